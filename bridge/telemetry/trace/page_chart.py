"""The chart of one rebalance on the page: a row for each member, a bar for each phase, marks for single moments.

It must not know the rest of the page.
"""

from collections.abc import Iterator, Mapping
from html import escape

from bridge.telemetry.cause.words import shorten, tell_duration
from bridge.telemetry.rebalances.stories import MemberStory, Rebalance, Stretch
from bridge.telemetry.schema.terms import Phase
from bridge.telemetry.trace.scale import Axis, axis_of, ticks_of
from bridge.telemetry.trace.wording import PHASE_WORDS, tell_client, tell_name, tell_roles

DRAWN = (Phase.JOINING, Phase.SYNCING, Phase.REVOKING, Phase.AWAITING_RELEASE, Phase.FETCHING)
MARKS = {
    "told_us": ("▾", "told"),
    "commit_on_revoke_us": ("◆", "committed while giving up"),
    "first_fetch_us": ("●", "first fetch"),
}
LABEL_SHARE_MIN = 0.13
"""A bar as wide as this part of the track has room for words."""
ROWS_MAX = 200
"""Members that are drawn one by one; of more, those that stood still longest."""
BADGES = {"cause": " why", "waited for": " late"}


def draw_chart(rebalance: Rebalance) -> str:
    """Axis, rows and legend."""
    axis = axis_of(rebalance)
    drawn = choose_rows(rebalance)
    rows = "".join(_row(rebalance, member, axis) for member in drawn)
    hidden = len(rebalance.touched) - len(drawn)
    rest = _rest(hidden, "stood still for less and are not drawn") + _rest(rebalance.untouched_count, "untouched")
    return f'<div class="chart">\n{_axis(axis)}{rows}{rest}</div>\n{_legend()}'


def choose_rows(rebalance: Rebalance) -> tuple[MemberStory, ...]:
    """The members that have a row, in their order: all, or those that matter most."""
    touched = rebalance.touched
    if len(touched) <= ROWS_MAX:
        return touched
    critical = rebalance.explained.critical_member
    ranked = sorted(touched, key=lambda member: (member.member_id != critical, -member.stall_us))
    chosen = {member.member_id for member in ranked[:ROWS_MAX]}
    return tuple(member for member in touched if member.member_id in chosen)


def _rest(count: int, what: str) -> str:
    if not count:
        return ""
    verb = "" if what.startswith("stood") else "was " if count == 1 else "were "
    return f'<div class="rest">{count} more member{"" if count == 1 else "s"} {verb}{what}.</div>'


def _axis(axis: Axis) -> str:
    ticks = "".join(
        f'<span class="tick" style="left:{_percent(axis.place(tick))}">{_tick_label(tick)}</span>'
        for tick in ticks_of(axis)
    )
    return f'<div class="axis"><div>member</div><div>{ticks}</div><div>stood still</div></div>\n'


def _tick_label(tick_us: int) -> str:
    if tick_us == 0:
        return "0"
    return tell_duration(tick_us) if tick_us > 0 else f"−{tell_duration(-tick_us)}"


def _row(rebalance: Rebalance, member: MemberStory, axis: Axis) -> str:
    is_critical = member.member_id == rebalance.explained.critical_member
    grid = "".join(f'<i class="grid" style="left:{_percent(axis.place(tick))}"></i>' for tick in ticks_of(axis))
    edges = "".join(
        f'<i class="edge" style="left:{_percent(axis.place(at_us))}"></i>' for at_us in (0, rebalance.duration_us)
    )
    names = {one.member_id: tell_name(one) for one in rebalance.members}
    bars = "".join(_bar(stretch, axis, names) for stretch in member.stretches)
    stall = tell_duration(member.stall_us) if member.stall_us else "<small>–</small>"
    return (
        f'<div class="row{" critical" if is_critical else ""}">{_who(rebalance, member)}'
        f'<div class="track">{grid}{edges}{bars}{"".join(_marks(member, axis))}</div>'
        f'<div class="stall">{stall}</div></div>\n'
    )


def _who(rebalance: Rebalance, member: MemberStory) -> str:
    roles = "".join(
        f'<span class="badge{BADGES.get(role, "")}">{escape(role)}</span>' for role in tell_roles(rebalance, member)
    )
    host = f", host {member.client_host}" if member.client_host else ""
    hint = escape(f"{member.member_id}\n{member.client_id}{host}", quote=True)
    return (
        f'<div class="who" title="{hint}"><b>{escape(tell_name(member))}</b>'
        f"<small>{roles}{escape(tell_client(member))}</small></div>"
    )


def _bar(stretch: Stretch, axis: Axis, names: Mapping[str, str]) -> str:
    cut = axis.cut(stretch)
    if cut is None:
        return ""
    begin, end = cut
    holders = ", ".join(names.get(holder) or shorten(holder) for holder in stretch.waits_on)
    waits = f" for {holders}" if holders else ""
    words = "waits" if stretch.phase is Phase.AWAITING_RELEASE else PHASE_WORDS[stretch.phase]
    hint = f"{PHASE_WORDS[stretch.phase]}{waits}: {tell_duration(stretch.duration_us)}"
    label = f"<span>{escape(words + waits)}</span>"
    has_room = end - begin >= LABEL_SHARE_MIN and stretch.phase is not Phase.FETCHING
    torn = "" if stretch.is_whole else " torn"
    return (
        f'<i class="bar {stretch.phase.value}{torn}" title="{escape(hint, quote=True)}" '
        f'style="left:{_percent(begin)};width:{_percent(end - begin)}">{label if has_room else ""}</i>'
    )


def _marks(member: MemberStory, axis: Axis) -> Iterator[str]:
    moments = {
        "told_us": member.told_us,
        "commit_on_revoke_us": member.commit_on_revoke_us,
        "first_fetch_us": member.first_fetch_us,
    }
    for name, at_us in moments.items():
        if at_us is not None and axis.shows(at_us):
            sign, words = MARKS[name]
            yield f'<i class="mark" title="{words}" style="left:{_percent(axis.place(at_us))}">{sign}</i>'


def _legend() -> str:
    phases = (f'<span><i class="bar {phase.value}"></i>{PHASE_WORDS[phase]}</span>' for phase in DRAWN)
    marks = (f"<span>{sign} {words}</span>" for sign, words in MARKS.values())
    edges = "<span>┊ the rebalance began, and ended</span>"
    return f'<div class="legend">{"".join((*phases, *marks))}{edges}</div>\n'


def _percent(share: float) -> str:
    return f"{100 * share:.3f}%"
