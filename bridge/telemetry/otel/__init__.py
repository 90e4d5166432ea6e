"""Rebalances as OpenTelemetry traces and metrics, sent by OTLP; needs the extra `otel`.

It must not know events; it takes rebalances that are over.
"""
