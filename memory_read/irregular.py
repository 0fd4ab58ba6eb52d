"""English words whose forms have no common beginning, which no stemmer brings together.

Only forms that are seldom another word: `lives` and `leaves` are verbs as often as nouns.
"""

_FORMS = """
be was were been; become became; begin began begun; bend bent; bite bit bitten; blow blew blown;
break broke broken; bring brought; build built; burn burnt; buy bought; catch caught;
choose chose chosen; come came; deal dealt; dig dug; do did done; draw drew drawn; dream dreamt;
drink drank drunk; drive drove driven; eat ate eaten; fall fell fallen; feed fed; feel felt;
fight fought; find found; flee fled; fly flew flown; forbid forbade forbidden;
forget forgot forgotten; forgive forgave forgiven; freeze froze frozen; get got gotten;
give gave given; go went gone; grow grew grown; hang hung; have had; hear heard; hide hid hidden;
hold held; keep kept; know knew known; lay laid; lead led; learn learnt; leave left; lend lent;
light lit; lose lost; make made; mean meant; meet met; overwrite overwrote overwritten; pay paid;
rebuild rebuilt; resend resent; rewrite rewrote rewritten; ride rode ridden; ring rang rung;
rise rose risen; run ran; say said; see saw seen; seek sought; sell sold; send sent;
shake shook shaken; shine shone; shoot shot; show shown; shrink shrank shrunk; sing sang sung;
sink sank sunk; sit sat; sleep slept; speak spoke spoken; spend spent; spin spun; stand stood;
steal stole stolen; stick stuck; strike struck; swear swore sworn; sweep swept; swim swam swum;
swing swung; take took taken; teach taught; tear tore torn; tell told; think thought;
throw threw thrown; understand understood; undo undid undone; wake woke woken; wear wore worn;
win won; withdraw withdrew withdrawn; write wrote written;
child children; foot feet; half halves; index indices; knife knives; man men; mouse mice;
person people; shelf shelves; tooth teeth; wife wives; woman women
"""

BASE_FORMS = {
    form: base for base, *forms in (entry.split() for entry in _FORMS.split(";")) for form in forms
}
