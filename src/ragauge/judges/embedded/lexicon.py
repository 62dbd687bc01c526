# ruff: noqa: E501 (data)
"""Word lists of the embedded judge, as data. All are stems (`ragauge.text.tokens.stem`) unless said otherwise."""

from __future__ import annotations

from ragauge.text.tokens import stem

#: Words that negate what follows (as written, casefolded).
_NEGATIONS = """
not no never without cannot can't won't don't doesn't didn't isn't aren't wasn't weren't hasn't haven't hadn't shouldn't
wouldn't couldn't mustn't needn't neither nor none nobody nothing nowhere lacks lack lacking fails unable nicht kein
keine ohne nie ne pas sans jamais sin nunca ningún non senza não sem nie bez
"""
NEGATIONS = frozenset(_NEGATIONS.split())

#: Words each of which excludes the others of its line.
_EXCLUSIVE = """
enabled disabled; enable disable; increase decrease reduce; increases decreases reduces; raise lower; rise fall; rises falls; grow shrink
allow deny forbid prohibit block; allowed denied forbidden prohibited blocked; allows denies forbids prohibits blocks
synchronous asynchronous; synchronously asynchronously; before after; minimum maximum; least most; include exclude; included excluded; includes excludes
optional required mandatory; public private; internal external; first last; always never sometimes; more less fewer; higher lower; above below
greater smaller less; larger smaller; longer shorter; faster slower; older newer; cheaper dearer; start stop; starts stops; started stopped; begin end; begins ends
open close; opens closes; opened closed; add remove; adds removes; added removed; create delete; creates deletes; created deleted; accept reject; accepts rejects; accepted rejected
succeed fail; succeeds fails; success failure; successful failed; valid invalid; encrypted unencrypted; free paid; ascending descending
upload download; north south east west; northern southern eastern western; left right; top bottom; true false; input output; mutable immutable
stable unstable; local remote; manual automatic; manually automatically; daily hourly weekly monthly yearly annually; nightly hourly weekly monthly
january february march april june july august september october november december; monday tuesday wednesday thursday friday saturday sunday
win lose; won lost; wins loses; buy sell; bought sold; male female; husband wife; father mother; son daughter; brother sister; king queen; man woman
alive dead; born died; import export; push pull; lock unlock; locked unlocked; visible hidden; online offline; horizontal vertical; single multiple
supported unsupported deprecated; read write; reads writes; reader writer; permanent temporary; permanently temporarily; persistent ephemeral; static dynamic
strong weak; hot cold; warm cool; full empty; same different; safe unsafe dangerous; legal illegal; possible impossible; present absent; early late; day night
morning afternoon evening; positive negative; odd even; inner outer; upper lower; senior junior; major minor; primary secondary; parent child; oldest youngest
largest smallest; highest lowest; longest shortest; fastest slowest; best worst; majority minority; linux windows macos
get post put patch; json xml yaml; http grpc; tcp udp; stdout stderr; user admin; red green blue yellow black white orange purple; supports opposes; support oppose; agree disagree; love hate; likes dislikes
"""


def _exclusive() -> dict[str, frozenset[str]]:
    table: dict[str, set[str]] = {}
    for group in _EXCLUSIVE.replace("\n", ";").split(";"):
        stems = {stem(word) for word in group.split()}
        for one in stems:
            table.setdefault(one, set()).update(stems - {one})
    return {one: frozenset(others) for one, others in table.items()}


#: stem → stems that exclude it.
EXCLUSIVE = _exclusive()

_SYNONYMS = """
delete remove erase; start launch boot; stop halt terminate; begin start commence; show display print; error failure fault; maximum max limit; minimum min; configuration config setting
directory folder; parameter argument option; authenticate login sign; documentation doc manual; default standard; retrieve fetch get; purchase buy; require need; use utilise utilize employ
allow permit enable let; cannot unable; quick fast rapid; big large huge; small little tiny; company firm; car vehicle; child kid; movie film; begin start; end finish conclude; help assist aid; build construct create make
repository repo; database db; environment env; application app; kubernetes k8s; administrator admin; staff employee worker; customer client user; price cost fee; free gratis complimentary; yearly annual; increase raise rise grow
reduce decrease lower cut; expire lapse; keep retain store save hold; snapshot backup; encrypt protect; approve authorise authorize; request query; reply response answer; version release; publish release; change modify alter edit update
country nation; doctor physician; die pass; kill murder; born birth; actor actress; author writer; song track; sick ill; happy glad; city town; street road; home house; job work; speak talk say; see view look; country state
"""


def _synonyms() -> dict[str, frozenset[str]]:
    table: dict[str, set[str]] = {}
    for group in _SYNONYMS.replace("\n", ";").split(";"):
        stems = {stem(word) for word in group.split()}
        for one in stems:
            table.setdefault(one, set()).update(stems - {one})
    return {one: frozenset(others) for one, others in table.items()}


#: stem → stems that may stand for it.
SYNONYMS = _synonyms()

#: Words that say "without exception", and words that say "with exceptions" (as written, casefolded).
UNIVERSAL = frozenset("all every always each only must entirely completely any exclusively everyone everything".split())  # noqa: SIM905
PARTIAL = frozenset(
    [
        "some",
        "most",
        "many",
        "often",
        "may",
        "might",
        "sometimes",
        "few",
        "several",
        "usually",
        "typically",
        "partly",
        "partially",
        "could",
        "can",
        "occasionally",
        "rarely",
    ]
)

#: Finite verbs by which a part of a sentence is known as one (as written, casefolded).
_VERBS = """
is are was were has have had can could will would must may might should shall does do did isn't aren't wasn't weren't doesn't don't didn't can't cannot won't
accepts adds allows appears applies arrives becomes began begins belongs blocks builds calls came carries causes changes checks closes comes connects consists contains continues controls
converts copies costs creates deletes denies depends describes determines disables displays drops enables encrypts ends expires exposes extends fails falls flows follows forces forwards
gets gives goes got grew grows handles happens helps holds identifies ignores includes increases indicates installs keeps kept knows launches leads leaves led limits lists listens lives loads logs
looks made makes manages maps matches means measures monitors moves needs notifies offers opens operates owns passes performs permits points prevents prints processes produces protects provides
publishes pulls pushes raises ran reads receives records reduces refers rejects releases reloads remains removes replaces reports represents requires resets restarts retries returns rises
rotates runs saves says scales scans searches sees selects sends serves sets shows shuts skips specifies stands starts stays stops stores streams supports syncs takes tells terminates
throws took triggers turns updates uploads uses validates verifies waits warns watches weighs went wins won works writes wrote died lost joined moved founded launched released introduced opened closed
accepted added allowed changed created deleted dropped enabled expired failed included increased installed needed provided received reduced removed replaced required returned started stopped supported used
"""
VERBS = frozenset(_VERBS.split())
