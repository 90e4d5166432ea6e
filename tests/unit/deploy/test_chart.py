"""The Helm chart, rendered by Helm: what it makes of values holds together, and the bridge takes it."""

import json
import shutil
import subprocess
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest
import yaml

from bridge.app.places import place_judges
from bridge.app.settings import parse_address
from bridge.cli.serve import serve
from bridge.config.configuration import Config, load
from deploy.grafana import DASHBOARDS, FOLDER
from tests.architecture.source_tree import ROOT
from tests.support.go_program import go_program

CHART = ROOT / "deploy/chart"
HELM, HELM_VERSION = "helm.sh/helm/v3/cmd/helm", "v3.22.0"
KUBERNETES = "1.31.0"
PORT_NAME_MAX = 15
CONFIGURATION = "/etc/epochbridge/bridge.yaml"
Values = Mapping[str, object]
Tree = dict[str, "Tree"]
"""A document of YAML, as far as these tests look into it by keys."""

LEAST: Values = {"bootstrap": ["kafka-0.kafka:9092"]}
BROKERS: Values = {**LEAST, "brokers": [{"id": 0, "port": 9193}, {"id": 1_000_000_001, "port": 9194}]}
CASES: Mapping[str, Values] = {
    "least": LEAST,
    "brokers": BROKERS,
    "groups and keys": {
        **BROKERS,
        "groups": [
            {"match": "orders-*", "road": "embedded", "consumer.session.timeout.ms": 50_000},
            {"regex": "a|b", "road": "pass"},
        ],
        "config": {"journal.bytes.max": 1_073_741_824, "bridges.group": "off", "metrics.rebalances": False},
        "advertisedHost": "kafka.example.org",
        "port": 19_092,
        "admin": {"port": 19_090},
        "service": {"type": "LoadBalancer", "annotations": {"example.org/internal": "true"}},
    },
    "one port": {
        **LEAST,
        "advertisedHost": "kafka.example.org",
        "sni": {"pattern": "b{id}.kafka.example.org:443"},
        "tls": {"enabled": True, "secretName": "bridge-tls"},
        "service": {"type": "LoadBalancer"},
    },
    "secrets": {
        **BROKERS,
        "upstreamSasl": {
            "mechanism": "SCRAM-SHA-512",
            "username": "epochbridge",
            "secretName": "kafka",
            "secretKey": "pw",
        },
        "upstreamTls": {"enabled": True, "secretName": "kafka-tls", "clientCertificate": True},
        "tls": {"enabled": True, "secretName": "bridge-tls", "clientAuth": "required"},
        "secrets": [{"name": "more", "secretName": "other"}],
        "journal": {"enabled": True, "size": "5Gi", "storageClass": "fast", "accessMode": "ReadWriteOncePod"},
    },
    "logins at the bridge": {
        **BROKERS,
        "listenSasl": {
            "mechanisms": ["PLAIN", "SCRAM-SHA-512"],
            "secretName": "bridge-users",
            "secretKey": "people",
            "sessionMs": 3_600_000,
        },
        "tls": {"enabled": True, "secretName": "bridge-tls"},
    },
    "logins by SCRAM": {**BROKERS, "listenSasl": {"mechanisms": ["SCRAM-SHA-256"], "secretName": "bridge-users"}},
    "admin API in TLS": {
        **BROKERS,
        "admin": {"port": 19_190, "tls": {"enabled": True, "secretName": "admin-tls", "clientAuth": "requested"}},
        "secrets": [{"name": "admin", "secretName": "admin-roles"}],
        "config": {"admin.tls.clients.path": "/etc/epochbridge/secrets/admin/roles"},
        "serviceMonitor": {"enabled": True},
    },
    "watched": {
        **BROKERS,
        "journal": {"enabled": False},
        "podDisruptionBudget": {"enabled": True, "maxUnavailable": 0},
        "serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}},
        "prometheusRule": {"enabled": True},
        "dashboards": {"enabled": True},
        "podAnnotations": {"a": "b"},
        "podLabels": {"team": "data"},
        "imagePullSecrets": [{"name": "registry"}],
        "priorityClassName": "high",
        "nodeSelector": {"disk": "ssd"},
        "tolerations": [{"key": "kafka", "operator": "Exists"}],
        "affinity": {"nodeAffinity": {}},
        "fullnameOverride": "bridge-of-a-name-that-is-much-longer-than-kubernetes-would-take-it",
    },
}
REFUSED: Mapping[str, tuple[Values, str]] = {
    "no broker to ask": ({}, "bootstrap: name at least one broker"),
    "a misspelt value": ({**LEAST, "brokerz": []}, "brokerz"),
    "a URL": ({"bootstrap": ["kafka://kafka:9092"]}, "bootstrap"),
    "a port of root's": ({**LEAST, "port": 92}, "port"),
    "a key that a value sets": (
        {**LEAST, "config": {"listen": "0.0.0.0:1"}},
        "config: listen is set by a value of this chart",
    ),
    "a login without a name": ({**LEAST, "upstreamSasl": {"mechanism": "PLAIN"}}, "upstreamSasl.username"),
    "a login without a Secret": (
        {**LEAST, "upstreamSasl": {"mechanism": "PLAIN", "username": "a"}},
        "upstreamSasl.secretName",
    ),
    "TLS to clients without a Secret": ({**LEAST, "tls": {"enabled": True}}, "tls.secretName"),
    "TLS of the admin API without a Secret": ({**LEAST, "admin": {"tls": {"enabled": True}}}, "admin.tls.secretName"),
    "certificates that probes can't show": ({**LEAST, "admin": {"tls": {"clientAuth": "required"}}}, "clientAuth"),
    "logins without a Secret": ({**LEAST, "listenSasl": {"mechanisms": ["SCRAM-SHA-256"]}}, "listenSasl.secretName"),
    "passwords without TLS": (
        {**LEAST, "listenSasl": {"mechanisms": ["PLAIN"], "secretName": "users"}},
        "listenSasl.mechanisms: PLAIN sends passwords as they are",
    ),
    "logins at both": (
        {
            **LEAST,
            "listenSasl": {"mechanisms": ["SCRAM-SHA-256"], "secretName": "users"},
            "upstreamSasl": {"mechanism": "PLAIN", "username": "a", "secretName": "kafka"},
        },
        "listenSasl.mechanisms: with upstreamSasl the cluster has logins of its own",
    ),
    "a mechanism that there is not": ({**LEAST, "listenSasl": {"mechanisms": ["GSSAPI"]}}, "mechanisms"),
    "a port taken twice": (
        {**LEAST, "port": 9192, "brokers": [{"id": 0, "port": 9192}]},
        "brokers: port 9192 is taken",
    ),
    "hosts without TLS": (
        {**LEAST, "advertisedHost": "k.example", "sni": {"pattern": "b{id}.k.example"}},
        "sni.pattern: clients ask for hosts in TLS",
    ),
    "hosts and ports": (
        {
            **BROKERS,
            "advertisedHost": "k.example",
            "sni": {"pattern": "b{id}.k.example"},
            "tls": {"enabled": True, "secretName": "bridge-tls"},
        },
        "sni.pattern: with hosts no broker has a port",
    ),
    "hosts without one for bootstrap": (
        {**LEAST, "sni": {"pattern": "b{id}.k.example"}, "tls": {"enabled": True, "secretName": "bridge-tls"}},
        "advertisedHost: the host that clients bootstrap to",
    ),
    "ports of nodes, which nobody is told": (
        {**LEAST, "service": {"type": "NodePort"}},
        "service.type: behind a NodePort clients would be told ports that the nodes have not",
    ),
    "a pattern without an id": ({**LEAST, "sni": {"pattern": "b.k.example"}}, "pattern"),
    "TLS without a Secret": ({**LEAST, "upstreamTls": {"enabled": True}}, "upstreamTls.secretName"),
}


@pytest.fixture(name="helm", scope="module")
def _helm() -> str:
    """From the path, or built by this machine's Go."""
    program = shutil.which("helm") or go_program(HELM, HELM_VERSION)
    if program is None:
        pytest.skip("no helm on the path, and no Go that could build it; the chart is only read")
    return program


def run_helm(helm: str, verb: Sequence[str], values: Values, folder: Path) -> "subprocess.CompletedProcess[str]":
    """Helm, with these values in a file."""
    path = folder / "values.yaml"
    path.write_text(yaml.safe_dump(dict(values)), encoding="utf-8")
    command = [helm, *verb, str(CHART), "--values", str(path), "--kube-version", KUBERNETES]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@dataclass(frozen=True, slots=True)
class Rendered:
    """What Helm made of values."""

    documents: Sequence[Tree]

    def of_kind(self, kind: str) -> list[Tree]:
        """All documents of a kind."""
        return [document for document in self.documents if str(document["kind"]) == kind]

    @property
    def pod(self) -> Tree:
        """The template of the one pod."""
        (owner,) = self.of_kind("StatefulSet")
        return owner["spec"]["template"]

    @property
    def container(self) -> Tree:
        """The bridge's own."""
        (only,) = items(self.pod["spec"]["containers"])
        return only

    def configuration(self, folder: Path) -> Config:
        """The file that the bridge reads, read by the bridge."""
        (document, *_) = (one for one in self.of_kind("ConfigMap") if "bridge.yaml" in one["data"])
        path = folder / "bridge.yaml"
        path.write_text(str(document["data"]["bridge.yaml"]), encoding="utf-8")
        config = load(path, {})
        for judge in place_judges(config):
            judge()
        return config


def plain(tree: Tree) -> object:
    """A value of YAML that is no mapping."""
    return tree


def items(tree: Tree) -> list[Tree]:
    """A list of YAML."""
    return cast("list[Tree]", tree)


@pytest.fixture(name="rendered", params=CASES, scope="module")
def _rendered(request: pytest.FixtureRequest, helm: str, tmp_path_factory: pytest.TempPathFactory) -> Rendered:
    folder = tmp_path_factory.mktemp("chart")
    ran = run_helm(helm, ["template", "there", "--namespace", "kafka"], CASES[str(request.param)], folder)
    assert ran.returncode == 0, ran.stderr
    return Rendered([document for document in yaml.safe_load_all(ran.stdout) if document])


def labels_of(document: Tree) -> set[tuple[str, str]]:
    """What selectors may ask for."""
    return {(name, str(value)) for name, value in document["metadata"]["labels"].items()}


@pytest.mark.parametrize("case", CASES)
def test_chart_passes_helms_own_check(helm: str, tmp_path: Path, case: str) -> None:
    """Warnings, too, are refused."""
    ran = run_helm(helm, ["lint", "--strict"], CASES[case], tmp_path)
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.parametrize("case", REFUSED)
def test_wrong_values_are_refused_by_name(helm: str, tmp_path: Path, case: str) -> None:
    """Before anything is in the cluster."""
    values, told = REFUSED[case]
    ran = run_helm(helm, ["template", "there"], values, tmp_path)
    assert ran.returncode != 0
    assert told in ran.stderr


def test_selectors_find_what_they_mean(rendered: Rendered) -> None:
    """The pod by its set, Services and budget; the Service of figures by its monitor, and no other."""
    pod = labels_of(rendered.pod)
    for kind in ("StatefulSet", "PodDisruptionBudget"):
        for document in rendered.of_kind(kind):
            assert {(k, str(v)) for k, v in document["spec"]["selector"]["matchLabels"].items()} <= pod
    for document in rendered.of_kind("Service"):
        assert {(k, str(v)) for k, v in document["spec"]["selector"].items()} <= pod
    for document in rendered.of_kind("ServiceMonitor"):
        wanted = {(k, str(v)) for k, v in document["spec"]["selector"]["matchLabels"].items()}
        (found,) = (one for one in rendered.of_kind("Service") if wanted <= labels_of(one))
        names = {str(port["name"]) for port in items(found["spec"]["ports"])}
        assert {str(point["port"]) for point in items(document["spec"]["endpoints"])} <= names


def test_ports_are_those_that_the_bridge_opens(rendered: Rendered, tmp_path: Path) -> None:
    """From the Service to the pod to the listeners of the configuration."""
    settings = rendered.configuration(tmp_path).settings
    opened = {
        "clients": parse_address("listen", settings.listen).port,
        "admin": parse_address("admin.listen", settings.admin_listen).port,
        **{f"b{node}": int(port) for node, port in (one.split("=") for one in settings.listen_ports)},
    }
    of_pod = {str(port["name"]): plain(port["containerPort"]) for port in items(rendered.container["ports"])}
    assert of_pod == opened
    assert max(map(len, of_pod)) <= PORT_NAME_MAX
    told: dict[str, object] = {}
    for service in rendered.of_kind("Service"):
        for port in items(service["spec"]["ports"]):
            assert str(port["targetPort"]) in of_pod
            told[str(port["name"])] = plain(port["port"])
    assert told == opened
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        assert str(rendered.container[probe]["httpGet"]["port"]) in of_pod


def test_files_lie_in_volumes(rendered: Rendered, tmp_path: Path) -> None:
    """Each mount has its volume and each volume its mount; every path of the configuration lies under one."""
    (owner,) = rendered.of_kind("StatefulSet")
    claims = [claim["metadata"] for claim in items(owner["spec"].get("volumeClaimTemplates", cast("Tree", [])))]
    volumes = {str(one["name"]) for one in [*items(rendered.pod["spec"]["volumes"]), *claims]}
    mounts = items(rendered.container["volumeMounts"])
    assert {str(mount["name"]) for mount in mounts} == volumes
    settings = rendered.configuration(tmp_path).settings
    paths = [
        settings.journal_path,
        settings.upstream_sasl_password_path,
        settings.listen_tls_certificate_path,
        settings.listen_tls_key_path,
        settings.listen_tls_trust_path,
        settings.admin_tls_certificate_path,
        settings.admin_tls_key_path,
        settings.admin_tls_trust_path,
        settings.admin_tls_clients_path,
        settings.upstream_tls_trust_path,
        settings.upstream_tls_certificate_path,
        settings.upstream_tls_key_path,
    ]
    places = [Path(str(mount["mountPath"])) for mount in mounts]
    for path in filter(None, paths):
        assert any(place in Path(path).parents for place in places), path
    assert (settings.journal == "sqlite") == bool(claims)


def test_pod_runs_what_the_command_line_takes(rendered: Rendered, tmp_path: Path) -> None:
    """Its arguments are those of `serve`, and the image is this version."""
    command, *arguments = [str(one) for one in cast("list[object]", rendered.container["args"])]
    with serve.make_context(command, arguments) as context:
        assert context.params["path"] == Path(CONFIGURATION)
    (owner,) = rendered.of_kind("StatefulSet")
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    assert str(rendered.container["image"]).endswith(f":{version}")
    assert plain(owner["spec"]["replicas"]) == 1
    # By default a pod that never became ready is waited for, also when the values that kept it from that are mended.
    assert plain(owner["spec"]["podManagementPolicy"]) == "Parallel"
    ports = {str(port["name"]): plain(port["containerPort"]) for port in items(rendered.container["ports"])}
    variables = {str(one["name"]): str(one["value"]) for one in items(rendered.container["env"])}
    authorities = rendered.configuration(tmp_path).settings.admin_tls_trust_path
    if authorities:
        wanted = {"EPOCHBRIDGE_ADMIN": f"localhost:{ports['admin']}", "EPOCHBRIDGE_ADMIN_CA_FILE": authorities}
    else:
        wanted = {"EPOCHBRIDGE_ADMIN": f"127.0.0.1:{ports['admin']}"}
    assert variables == wanted
    assert str(rendered.container["readinessProbe"]["httpGet"]["scheme"]) == ("HTTPS" if authorities else "HTTP")


def test_pod_has_no_rights(rendered: Rendered) -> None:
    """The restricted profile of Kubernetes' own pod security standards, and a file system that is only read."""
    pod, own = rendered.pod["spec"], rendered.container["securityContext"]
    assert plain(pod["securityContext"]["runAsNonRoot"]) is True
    assert plain(pod["securityContext"]["seccompProfile"]) == {"type": "RuntimeDefault"}
    assert plain(own) == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert plain(pod["automountServiceAccountToken"]) is False


def test_dashboards_and_alerts_are_the_ones_of_this_version(helm: str, tmp_path: Path) -> None:
    """As they lie in deploy/dashboards."""
    ran = run_helm(helm, ["template", "there"], CASES["watched"], tmp_path)
    rendered = Rendered([document for document in yaml.safe_load_all(ran.stdout) if document])
    (boards,) = (one for one in rendered.of_kind("ConfigMap") if "bridge.yaml" not in one["data"])
    shown = {name: json.loads(str(text)) for name, text in boards["data"].items()}
    assert shown == {f"epochbridge-{name}": json.loads((FOLDER / name).read_text("utf-8")) for name in DASHBOARDS}
    (rules,) = rendered.of_kind("PrometheusRule")
    assert plain(rules["spec"]) == yaml.safe_load((FOLDER / "alerts.yml").read_text(encoding="utf-8"))


def leaves(tree: object, path: str = "") -> Iterator[str]:
    """Every value of the chart by its path."""
    if isinstance(tree, dict) and tree:
        for name, inner in tree.items():
            yield from leaves(inner, f"{path}.{name}")
    else:
        yield path


def test_every_value_is_used_and_in_the_schema() -> None:
    """Also where there is no Helm: a value that nothing reads would be a lie."""
    values = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
    schema = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
    assert {*schema["properties"]} == {*values, "global"}
    text = "".join(path.read_text(encoding="utf-8") for path in (CHART / "templates").iterdir())
    assert [one for one in leaves(values) if not is_read(one, text)] == []


def is_read(path: str, text: str) -> bool:
    """Whether a template takes this value, or the whole that it is a part of."""
    whole = path
    while whole:
        if f".Values{whole}" in text and (
            whole == path or f"toYaml .Values{whole} " in text or f"with .Values{whole} }}}}" in text
        ):
            return True
        whole = whole.rpartition(".")[0]
    return False


def test_chart_has_the_version_of_the_package() -> None:
    """Both in one commit."""
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    assert (chart["version"], chart["appVersion"]) == (version, version)
