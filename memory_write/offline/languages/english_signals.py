"""English: the signs that a statement is meant for later.

Longer than the habit: it is a list of words, read from top to bottom like a table.
"""

from memory_write.offline.lexicon import pattern
from memory_write.offline.signals import Signals

_WAYS = (
    r"(?:answers?|answering|repl(?:y|ies)|respon[ds]\w*|summar\w+|explanations?|explain(?:ing)?"
    r"|diffs?|messages?|tone|wording|verbose|words|sentences?|bullets?|bullet points?"
    r"|paragraphs?|explain|reasoning|plan|suggestions?|emojis?|jargon|apolog\w+|lectures?"
    r"|small talk"
    r"|options?|step by step|confirm\w*|permission|approval)"
)
_DOING = (
    r"(?:add|us|writ|mak|chang|touch|rewrit|renam|mov|delet|remov|creat|put|ask|tell|say|giv"
    r"|explain|apologi[sz]|format|refactor|commit|push|assum|guess|claim|propos|suggest|introduc"
    r"|convert|includ|skip|forget|leav|insert|invent|summari[sz]|repeat|do|import|install|pull"
    r"|bring|show|run|edit|break|ignor|overwrit|mix|pick|go|print|comment|translat)"
)

ENGLISH_SIGNALS = Signals(
    lasting=pattern(
        r"\b(?:as (?:you|we) go|along the way)\b",
        r"^(?:please )?keep (?:on )?(?:using|doing|writing|giving|adding|showing|making|putting"
        r"|asking|explaining)\b",
        r"\b(?:from (?:now|here|this point|today) on(?:wards?)?|going forward|always"
        r"|never|ever|every time|each time|whenever|by default|as a rule|in (?:the )?future"
        r"|next time|permanently|until further notice|at all times|no matter what"
        r"|without exception|for good|generally|in general|usually|as usual|under any circumstances"
        r"|everywhere|throughout|any ?more|no longer|unless i (?:ask|say|tell)"
        r"|until i (?:say|tell)|until v?\d\S*|(?:for|in) every (?:session|project|repo|case"
        r"|commit|message|answer|time|turn)|for all)\b",
    ),
    bans=pattern(
        r"\bmust (?:not|never)\b",
        r"\bnowhere else\b|^you (?:never|only ever) (?!know|see|mind|said|told|\w+ed\b)\w+",
        r"(?:^|[,;] )(?:dont|doesnt|cant|wont) \w",
        r"^no (?!errors?|comments?|idea|luck|tests? |need|worries|problem|changes|way|one|news"
        r"|feelings)[a-z-]+ [a-z-]+s\b(?! (?:were|was|have|are))",
        r"\bleave (?:[./\w']+ ){1,4}alone\b|\bnothing \w+(?:-\w+)?, only\b",
        r"\bhands off\b",
        r"^(?:nobody|no one|nothing) (?:but|except|other than|should|may|edits|touches|merges"
        r"|changes|gets|goes|leaves)\b|, (?:nothing|nobody|no one) (?:gets|goes|edits|touches)\b",
        r"(?:^|[,;:.] |\b(?:and|but|so|please|plus|with) )(?:please )?(?:no|don't|do not|never|stop"
        r"|avoid|nothing but|zero|not a single|without) (?!need|a\b|an\b|been|seen|heard|got|had"
        r"|knew|idea|problem|worries|matter|one\b"
        r"|worry|i\b|it\b|that\b|this\b)\w",
        r"\b(?:is|are|stays?|'s) (?:strictly |absolutely )?(?:banned|forbidden|prohibited"
        r"|off[- ]limits|not allowed|a no-go|taboo|out|not an option|verboten)\b",
        r"\b(?:you|we|one|nobody|no one|it|they) (?:can't|cannot|can not|mustn't|must not|may not"
        r"|shouldn't|should not|must never|should never|(?:is|are)n't allowed to) \w",
        r"\b(?:i|we) (?:really )?(?:don't|do not|won't|never) (?:want|need|allow|accept|use|like|do"
        r"|write|put|ship|commit|merge|support|tolerate|mix|touch|squash|delete|push|deploy"
        r"|mock|wrap|store|log) (?!it\b|to (?:go|be|see) )",
        r"\b(?:keep|leave|stay) (?:your hands off|out of|away from|clear of|alone)\b",
        r"\bnot (?:in|on|under|for) (?:my|our|the) \w+",
    ),
    ruling=pattern(
        r"\b(?:is|are) (?:ok|okay|fine) in (?:(?:this|our) \w+|[\w./]+$)"
        r"|\bit's [\w-]+(?: [\w-]+){0,2} (?:throughout|everywhere)\b",
        r"\b(?:separated|delimited|encoded|quoted|sorted|named) (?:now|these days)\b"
        r"|\bvoted (?:down"
        r"|against|for)\b|\beverything else (?:stays|is|goes)\b|\bit is, \w",
        r"\b(?:is|are) (?:frozen|read|written|kept|listed) (?:in|by|as|once)\b|\bis frozen\b",
        r"\b\w+s (?:listed|sorted|ordered|grouped|named|numbered|written|kept|rounded"
        r"|stored) (?:in|by|as|with|to|per)\b",
        r"\bthat's the deal\b|\bnamed after\b|\bthe (?:only|single) source\b",
        r"\bonly (?:if|when) (?:there|you|it|nothing|no)\b|, only then\b",
        r"^only \w+ (?:touches|edits|merges|changes|deploys|approves|ships)\b",
        r"\b(?:frozen|carved in stone|set in stone|sacred|untouchable|the floor|the ceiling"
        r"|floor for us|doesn't change|don't change|never change)\b|\b(?:may|can) (?:be"
        r"|only) .*\bnever\b|\bneeds? (?:a|an|my|two|three|one|at least"
        r"|your) (?:\w+ ){0,2}(?:okay|ok|approval|review|pair|sign-off|signature|test|green"
        r"|ticket|reason|owner|date|name)\b|\bwe (?:log|read|raise|return|target|ship|wrap|order"
        r"|number|tag)\b",
        r"\bwe(?:'re| are) (?:doing|using|keeping|dropping|moving to|switching to)\b",
        r"\bwe (?:all |only |now |just )?(?:use|write|spell|format|indent|commit|squash|rebase"
        r"|sign|name|host|ship|version|store|keep|pin|cap|round|sort|number|prefix|document"
        r"|cache|validate|encrypt|vendor|mirror|tag|test against|target|support|follow) (?!it\b"
        r"|this\b|that\b|a lot|the (?:same )?\w+ (?:in|from|for) )\w",
        r"\blike (?:the rest|everywhere else|all (?:the )?others?|we do|elsewhere"
        r"|everything else)\b",
        r"\b(?:belongs?|goes|lives|gets|\w+s (?:go|live|get)) (?:in|into|to|under|at|on|next to"
        r"|through|via)\b|\bstays? (?!up|down|tuned|here)\w+|\b(?:is|are) (?:fixed|pinned"
        r"|cleared|capped|kept|stored|written|named|measured|rounded|sorted|reserved)\b",
        r"\b(?:rules?|convention\w*|guidelines?|policy|policies|standards?|decision|style guide"
        r"|brand guide|house style|requirements?|mandatory|non-negotiable|required|ceiling|limit"
        r"|contract|agreement)\b",
        r"\b(?:we|i|the team|team|guild|group)(?:'ve| have|'re)? (?:all |just |finally |now )*"
        r"(?:decided|agreed|settled|chose|picked|opted|standardi[sz]ed|signed off|dropped"
        r"|switched|moved|migrated|adopted|banned|retired|abandoned|replaced)\b",
        r"\b(?:we|we're|we'll|i|i'm|i'll|let's)(?: are| will| am)? (?:stay(?:ing)?|stick(?:ing)?"
        r"|keep(?:ing)?|go(?:ing)?|remain(?:ing)?|settl(?:e|ing)) (?:on|with|to|at|for) (?!it\b)",
        r"\b(?:are|is|was|were) (?:allowed|permitted|okay|required|expected|agreed|settled|decided"
        r"|fixed)\b",
        r"\b(?:it's|it is) (?:one|per|always) \w+",
        r"\b(?:for the record|decision:)",
    ),
    ours=pattern(
        r"\b(?:we|we're|we've|our|ours|us|the team|my team|the whole team|the guild"
        r"|in-house)\b"
    ),
    self=pattern(
        r"\b(?:i|i'm|i'd|i've|my|(?<!but[ ])(?<!except[ ])me|mine) (?!(?:also )?(?:just "
        r"|only )?(?:want you to|need you to"
        r"|think (?:so|it|that)|see|saw|got|get|found|have to|had|did|was|am going|will|can|guess"
        r"|don't know|wonder|mean)\b)"
    ),
    likes=pattern(
        r"^i (?:review|read|work|write|test|type) (?:on|in|with|from|by) .*, so\b",
        r"\bi (?:get lost|struggle|have trouble|lose track|trip over)\b|\bno need to (?:greet|thank"
        r"|apologi[sz]e|sum|ask|repeat|explain)|\byou (?:don\'t|do not) (?:have|need) to (?:ask"
        r"|explain|greet"
        r"|apologi[sz]e|confirm|check with)\b",
        r"\bi (?:distrust|undersell|overthink|prefer to)\b",
        r"\bi(?: always)? (?:do|write|handle|make|run|translate|merge|own|sign|keep) .*\bmyself\b",
        r"\bi'd appreciate\b|\b(?:for|with) me,? please\b",
        r"^assume (?:i|that i) (?:know|am|have|understand)\b|^(?:treat|talk to"
        r"|think of) me (?:like|as)\b|\byou can be (?:blunt|direct|honest|rude|brief|terse)\b"
        r"|\bi'd be (?:happier|glad|grateful) if you\b|\bgive me (?:the )?\w+(?: \w+)*, then\b"
        r"|\bfiles free of\b",
        r"\bi prefer an? (?:\w+ ){1,2}(?:to|over) an? \w+|\bi'd be (?:happier|glad"
        r"|grateful) if you\b|\b(?:red-green|colou?r[- ]?blind)\b|\bi'm (?:\w+ )?(?:blind|deaf"
        r"|dyslexic|left-handed|european|american|british)\b",
        r"\bi (?:want|need|expect) (?:the|a|an|two|three|one) \w+(?: \w+){0,3} (?:before|for any"
        r"|whenever|in every|with every|per)\b|\b(?:helps?|suits?) me (?:more|most|best)\b"
        r"|\bi (?:learn|work|think|read) (?:best|better|faster)?\b.*\b(?:in|by|so|on)\b"
        r"|\bi (?:mistrust|distrust|abhor|adore|avoid)\b|\bi can't (?:read|follow|see|stand|use"
        r"|hear)\b.*,|\bfor (?:anything|everything) \w+ i want\b|\bmy \w+ \w+ (?:start|end|begin"
        r"|are|have) with\b",
        r"\b(?:is|are|'s) (?:plenty|enough|sufficient|all i (?:need|want|read))\b|\bwill do\b"
        r"|\bsuffices?\b|\bdrives? me (?:crazy|mad|nuts|up the wall)\b|\b(?:annoys?|bugs?"
        r"|bothers?) me\b|\bgets? on my nerves\b|\b(?:don't|do not) trust\b|\bi (?:want|need"
        r"|expect) \w+ to (?:pass|be|stay|have)\b.*\b(?:every\w*|all|always)\b",
        r"\b(?:i|i'd|i would|we)(?: \w+ly| also| just| too| much| do| really| still)* (?:prefer"
        r"|like|love|hate|dislike|enjoy|favou?r|appreciate|care about|insist on|expect|rather"
        r"|can't stand|detest|loathe|value|stick to|swear by) (?!it\b|this\b|that\b|how\b|the\b"
        r"|what\b|your\b|to see\b|a \w+ of\b)",
        r"\b(?:i|we)(?: \w+ly| also| just| really)* (?:don't|do not|never|only) (?:want|like|trust"
        r"|believe) (?!it\b|this\b|that\b|the \w+$|to (?:go|be)\b)\w",
        r"\b(?:i'm|i am) (?:\w+ly |very |really |quite )?(?:picky|strict|allergic|used to|a fan"
        r"|colou?r-?blind|dyslexic|old school|pedantic|fussy|particular|learning)\b",
        r"\bi want (?:your|my|all|every|each|any|only|no|at most|to see (?:every|all|only))\b",
    ),
    contrast=pattern(
        r"\b\w+ (?:is |are |goes |go )?(in|on|at|to|by|with) \w+, (?:and )?(?:the )?\w+ (?:is "
        r"|are |goes |go )?(?:in|on|at|to|by|with) \w+$",
        r"^(?!yes|no|go|more|help|stop|now|again|faster)[\w-]+(?: [\w-]+)? please(?:,|$)",
        r", (?:don't|do not|never|no) \w+|\b(?:before|over) (?:prose|words|\w+ing)\b"
        r"|, \w+ (?:never|second|last|after)[.!]*$|\bonly at\b|\b\w+ in \w+, \w+ in \w+",
        r"(?:, |\band |\bbut )not (?:in |with |on |via |the )?\w",
        r"\b(?:instead of|rather than|over|as opposed to|in place of|in favou?r of|except"
        r"|apart from|but not|and not|never (?:with|from|in|to|via|npm|on|rely))\b",
    ),
    every=pattern(
        r"\bat \d+$|\bwith an? \w+ and an? \w+|\bmore than (?:one|two|three|four|five|\d+)\b"
        r"|\bin one (?:place|file|go|sentence|line)\b",
        r"\b\d+ \w+ (?:tops|max)\b",
        r"\bwith (?:one|two|three|no|\d+) \w+",
        r"\b(?:longer|more|less|fewer|larger|bigger|deeper|smaller|shorter) than\b|\b(?:under"
        r"|over|up to|within|below|above) (?:\d|one|two|three|five|ten|twenty)"
        r"|\b\w+ first\b.*\bsecond\b|\btop of (?:every|each)\b|\bfirst, (?:then )?",
        r"\b(?:all|every|each|any|only|everything|anything|nothing|both|at most|at least"
        r"|no more than|max(?:imum)?|min(?:imum)?|per|one \w+ each|exactly|strictly|purely"
        r"|consistently|plain|entirely|whole)\b",
    ),
    reason=pattern(
        r"\bso (?:please )?(?:split|make|write|send|give|show|name) ",
        r"\b(?:because|since (?!v?\d)|as (?:it|we|they|i)|otherwise|or else|so that"
        r"|so (?:please|don't|never|always|keep|use|stick|put|we|i)|that way"
        r"|it (?:makes|hides|breaks|keeps|helps|takes|confuses|is easier)"
        r"|nobody|no one|or (?:it|the|they|you)|breaks?|hides?|easier|faster|flaky|reads? better"
        r"|depends?|needs? it|needs? (?:them|that)|to (?:learn|keep|avoid|save|comply))\b",
        r", (?:it's|it is|they're|they are|that's|i|we|you|our|the \w+) (?!asked|wrote|said|can"
        r"|could|'ll)\w+",
    ),
    manner=pattern(
        r"\b(?:normal|full|complete|whole) sentences\b|\b(?:from|in) your (?:answers|replies"
        r"|messages)\b",
        r"\bfull sentences\b|\b(?:whenever|when|before|after) you (?!are done|'re done|merge"
        r"|push|open|finish this)\w+",
        r"\b(?:bullet points?|sentences?|paragraphs?|words) (?:max(?:imum)?|at most|tops"
        r"|or less)\b|^(?:no|skip the|drop the|without) (?:pleasantries|preamble|intro|fluff"
        r"|filler|small talk)\b|^(?:please )?skip the pleasantries",
        r"\b(?:treat|assume i|spare) (?:me|i|know)\b|\bassume (?:i|that i) (?:know|am|have"
        r"|understand)\b|\byou (?:can|may) (?:be |run |change |use |skip )\w*.*\b(?:without"
        r"|with me|blunt|direct|honest)\b|\b(?:pleasantries|preamble|fluff|filler|trade-offs?"
        r"|alternatives|variants|sketch|diagrams?)\b|\b(?:print|show) it and let me\b"
        r"|\bgive me (?:the )?\w+(?: \w+)*, then\b",
        r"\b(?:say so|admit it|be honest|solutions?|(?<!type[ ])hints?|spoilers?|praise"
        r"|feedback)\b|\b(?:don't|do not|never|stop) (?:invent|guess|assume|make (?:things "
        r"|it )?up|hallucinat|claim|pretend|flatter|sugarcoat|speculat|bother|lectur|overdo"
        r"|second-guess)\w*\b",
        r"\bat me\b|\bto me\b|\bone line\b",
        rf"\b(?:your|you|me) (?:\w+ ){{0,4}}?{_WAYS}\b|\b{_WAYS} (?:\w+ ){{0,3}}(?:me|you|first"
        rf"|before|after|short\w*|brief\w*|long\w*)\b",
        r"\b(?:ask|tell|show|warn|check with|consult|give|explain to|talk to|remind|quiz"
        r"|walk) me\b",
        r"\b(?:before|when|after|while|if) you (?:\w+ )?(?:add|change|claim|say|finish|start"
        r"|answer|write|make|touch|show|reply|delete|remove|commit|explain|propose|name|edit"
        r"|install|run|are done|'re done|finish)\w*\b",
        r"\bwhat i (?:asked?|ask for|need|want|said)\b|\bi asked?(?: you)?(?: for| about)?\b"
        r"|\bunless asked\b|\bwithout (?:asking|being asked|my)\b",
        r"\b(?:code|command|answer|result|example|conclusion|summary|explanation|numbers?) first\b",
        r"(?:^|\b(?:you|please|and|always|never) )(?:speak|talk|answer|reply|respond|write to me"
        r"|explain)\b.*\b(?:in|with|like|as|to)\b",
        r"\b(?:short|brief|concise|direct|terse|plain|honest|less text|more formulas"
        r"|to the point)\b.*\b(?:answers?|repl\w+|with me|summar\w+|please)\b",
        r"\bin (?:english|german|french|spanish|chinese|portuguese|italian)\b",
        r"\b(?:i (?:skim|don't read|can read|read|review|decide|learn|want to learn)"
        r"|let me decide|leave \w+ to me|by hand|myself)\b",
    ),
    complaint=pattern(
        r"\btoo (?:many|much) \w+",
        r"\byour (?:\w+ ){1,3}(?:reads?|looks?|sounds?|feels?|are|is|was|were) (?:like|too|way"
        r"|so|always"
        r"|still|getting)\b",
        r"\byou(?:'re| are)? (?:keep|kept|always|constantly|again|often|once again|keep on)"
        r" (?!forget the)\w+",
        r"\b(?:i|i've|i have) (?:already |often )*(?:told|asked|said|mentioned|explained)"
        r"(?: you| this| that| it)?\b.*\b(?:before|already|twice|times|again|not to|to stop)\b",
        r"\b(?:way |far |much |still |a bit |a little )?too (?:long|wordy|verbose|formal|chatty"
        r"|detailed|complicated|vague|technical|short|many words|much text|polite|stiff|dry)\b",
        r"\bstop \w+ing\b|\b(?:you )?can stop \w+ing\b|\bquit \w+ing\b|\bno more \w+"
        r"|\bless (?:text|prose|talk|words)\b",
        rf"\byou(?:'ve)? been {_DOING}ing\b",
    ),
    blame=pattern(
        r"\byou(?:'ve)? (?:just |also |already |still |even |again "
        r"|went and )*(?:(?!need)\w{3,}ed\b|reached|changed|rewrote|added"
        r"|invented|pulled|renamed|removed|deleted|touched|ignored|broke|used|wrote|forgot|left|did"
        r"|made|put|use|write|named?|called?|placed?|wrap|indent|switched|moved|converted|skipped"
        r"|reformatted|replaced|reordered|installed)\b",
        r"\b(?:i )?(?:hadn't|haven't|didn't|did not|never) (?:ask(?:ed)?|want(?:ed)?)"
        r" (?:for|you|that)\b|\blast time you\b|\bnot what (?:i|we) (?:asked|meant|wanted)\b",
    ),
    must=pattern(
        r"^\w+ code (?:should|may|can)\b",
        r"^(?:\w+ ){0,2}\w{3,}s should (?!now|all|be (?:fine|ok|there|enough|possible))\w+",
        r"\b(?:must|has to|have to|needs? to|ought to|shall|is mandatory"
        r"|are mandatory)\b(?! (?:be a|pass|work|think|go|keep them))",
    ),
    modal=pattern(
        r"\b(?:must|should|shall|has to|have to|needs? to|need the|needs? (?:the|a|an)\b|ought to"
        r"|gets?|goes|go|belongs?|lives?|is|are|stays?|remains?|comes?|uses?|starts?|ends?)\b"
    ),
    general=pattern(
        r"^an? (?:\w+ ){1,2}(?:must|needs|gets|never|always)\b",
        r"^(?!it\b|this\b|that\b|he\b|she\b)[a-z]+ (?:is|are) (?:an? (?:\w+ )?(?:number|string"
        r"|integer|list|count|date|enum|decimal|float)"
        r"|stored|kept|written|measured|counted)\b",
        r"^[a-z][\w ]{2,30}: [\w -]+ only(?:,|$)",
        r"\b(?:separated|delimited|encoded|quoted) (?:now|these days)\b",
        r"^(?!it\b)[a-z]+s (?:right|left|top|centre|center)-aligned\b",
        r"^[a-z]+s (?:listed|sorted|ordered|written|named|grouped) (?:in|by|as)\b"
        r"|^[a-z][\w-]+s [a-z]+, [a-z]+\b.*(?:first|last|second)[.!]*$",
        r"^(?:please )?(?:give|mark|tag|label|name|number|sign|date) (?:every|each|all)\b",
        r"^[a-z][\w ]{2,30}: (?:at most|max|no|only|always|never|\w+ case|qq|\d+|one|two|three)\b",
        r"^(?:one|two|three|\d+) [\w-]+ (?:per|for each|for every)\b",
        r"^(?:please )?(?!check|show|list|find|fix|run|remove|delete|update|rename|review|add"
        r"|make|create"
        r"|strip|extract|parse|build|test|explain|numeric ones|all \w+ are welcome|thanks|yes"
        r"|this|looks|works|sounds|always|was|has|does|is|lets|fails|passes"
        r"|seems|makes|us\b|guess|across|unless|others|users|customers|people|numbers look)"
        r"(?:[a-z-]+ (?!the\b|a\b)){0,3}?[a-z-]{2,}[^su\W]s(?:,| (?:is|are|goes?|gets?|stay|live"
        r"|belong|become|hold|sit|contain"
        r"|come|have|carry|need|use|must|should|can|may|before|on|only|next|at|in|over|without"
        r"|explain"
        r"|start|end|follow|say|return|keep|read|contain|between|for|with|never|always|first"
        r"|like))",
        r"^(?:every|each|any|anything|everything|all|whoever|whatever|nothing|only \w+"
        r"(?= (?:touches|edits|merges|may|can|writes|changes|deploys|ships|decides|and)))\b"
        r"(?! \w+ should now)(?! (?:\w+ )?(?:passes|fails?|works?|single|one of|of (?:them|these"
        r"|it)|requests?|tests? (?:pass|fail)|looks?|comments are welcome|functions should now"
        r"|is (?:fine|done|broken|gone)|the|these|three|two|four|my|your|our (?:tests|builds)"
        r"|i\b|we\b|good|right))",
        r"^(?:a|an|one) (?:new )?[a-z-]+ (?:needs|must|has|gets|is|never|always|carries|starts"
        r"|ends|links)\b",
        r"^(?:no|two|three|four|\w+ case|alphabetical|chronological|lower ?case|upper ?case|tabs"
        r"|spaces)"
        r" (?!idea|luck|problem|worries|one|way|tests were|of )[a-z-]+(?: \w+)* (?:in|for|on|at"
        r"|over|per)\b",
        r"^(?:please )?(?:use|wrap|cite|leave|prefix|indent|sort|quote|spell|capitali[sz]e"
        r"|format|order"
        r"|raise|prefer|stick|pin|name|keep|round|separate|align|pad|escape|annotate|tag|group"
        r"|number"
        r"|write|pull in|put|return|link|mark|store) (?!the\b|this\b|that\b|it\b|its\b|those\b"
        r"|these\b|them\b|my\b|his\b|her\b|a\b|an\b|one\b|going|\w+\(|tests? for|docs? for|some"
        r"|both"
        r"|another|me\b|all tests|up\b|down\b|back\b)(?:\S+ ){2,}\S+",
        r"\b(?:when(?:ever)?|if|where|for) (?:a|an|any|anything|something|numbers|nothing"
        r"|in doubt|things)"
        r" ?\w+.*,|\bin doubt\b|\bwherever\b|\bwhen it comes to\b|\bwhere possible\b",
        r"\bwithout an? \w+$|\b(?:before|after|under) (?:a|an|any) \w+|\bafter \d+ ?(?:am|pm|h)\b",
    ),
    things=pattern(
        r"\b(?:csv|xml|json|feeds?)\b",
        r"^(?:\w+ ){0,2}\w{3,}s (?:carry|hold|sit|contain|are|go|belong|stay|must|should|get|use"
        r"|live|have|need|come)\b",
        r"\b(?:functions|methods|classes|tests|commits?|commit messages|titles|headings|names"
        r"|comments|docstrings|variables|identifiers|files|modules|imports|branches|prs"
        r"|pull requests"
        r"|reviews|changes|docs|documentation|readmes?|changelogs?|release notes|reports|emails"
        r"|mails"
        r"|paragraphs|sentences|sections|scripts|migrations|constants|types|type hints"
        r"|error messages|errors|logs|log messages|secrets|dependencies|libraries|packages|versions"
        r"|releases|dates|times|timestamps|numbers|amounts|money|prices|units|tables|lists|plots"
        r"|charts|figures|images|icons|colou?rs|code|prose|text|texts|queries|endpoints"
        r"|components|hooks|articles|posts|slides|diagrams|styling|layout|spelling|config"
        r"|configs|settings|services|resources|tags|labels|keys|ids|test ids|columns|column names"
        r"|fields|flags|exceptions|globals|macros|pages|subject lines|announcements|postmortems"
        r"|notes|examples|snippets|fixtures|mocks|sleeps|retries|timeouts|data ?frames|jobs|models"
        r"|views|templates|strings|literals|pixels|assets|links|urls|routes|messages|queues|unwraps"
        r"|warnings|features|overrides|constraints|allocation|udfs|hints)\b",
    ),
    here=pattern(
        r"^(?:the|this) (?:whole|entire) \w+ (?:is|uses|runs)\b",
        r"\b(?:in|for|on|of|across) (?:this|our) (?:schema|engine|manual|newsletter|platform"
        r"|tool|system|plugin|extension|report|deck|sheet|spreadsheet|notebook|pipeline|cluster"
        r"|shop|store|portal|dashboard|api|gateway|template|theme|course|archive|house"
        r"|container)\b",
        r"\b(?:in|for|within|across|throughout|inside|on|of) (?:this|the|our) (?:repo|repository"
        r"|project|code ?base|workspace|package|crate|library|firmware|service|app|monorepo"
        r"|module|thesis|paper|book|handbook|game|site|website|blog|product|company|docs)\b",
        r"\bthis (?:repo|repository|project|code ?base|crate|firmware|workspace)\b",
        r"\b(?:around here|in here|over here)\b|\bhere(?:,|$| (?:and|we|you|because|or))"
        r"|\b(?:we|use|used|is|are|it) here\b",
    ),
    recurs=pattern(
        r"\b(?:when(?:ever)?|before|after|once|if|unless|until|while) (?:a |an |any |each |every )?"
        r"(?:you|we|i|it's|adding|changing|finishing|committing|pushing|merging|releasing|deploying"
        r"|switching|running|claiming|writing|building|naming|\w+ing\b|commits?|changes?|merges?"
        r"|releases?|in doubt)\b",
        r"\bat the end of (?:a|an|each|every)\b|\bafter (?:every|each)\b|\bbefore (?:every|each)\b",
    ),
    imperative=pattern(
        r"^(?:please )?(?:use|keep|write|put|run|add|make|name|avoid|answer|reply|prefer|format"
        r"|ask|check|test|show|explain|stick|give|tell|start|end|leave|treat|wrap|round|store"
        r"|pass|open|follow|speak|talk|mark|sign|squash|rebase|measure|return|log|assume|include"
        r"|export|only|just|be|let|stay|work|pin|tag|prefix|spell|translate|commit|limit)\b",
        r",? please[.!]*$",
    ),
    asks=pattern(
        r"\b(?:from (?:now|here) on|going forward|henceforth|until further notice)\b",
        r"\b(?:that's|this is|that is|it's|they're) (?:also )?(?:my|our|the|how (?:i|we)(?! got"
        r"| ended| found| lost)|what (?:i|we)(?! got| have| found)) ?(?:own |usual |general "
        r"|house |team |only )?(?:rules?|baseline|style|convention|habit|order|standard|way"
        r"|default|minimum|maximum|practice|policy|ceiling|like|want|do|work|agreed|use"
        r"|preference|approach|guideline)\b",
        r"\b(?:remember|(?:keep|leave) it (?:that way|like that)|keep (?:that|this|it|to (?:it"
        r"|that|this))? ?in mind|bear in mind"
        r"|worth (?:remembering|noting)|take (?:it|that|this) as (?:given|read)|note (?:that|this"
        r"|it)|make a note|for next time|for the future|keep to (?:it|that|this)|don't forget"
        r"|that goes for|that applies|this applies|that holds|goes for (?:all|every)"
        r"|we do (?:that|this|it) (?:throughout|everywhere|always|in))\b",
    ),
    endorses=pattern(
        r"^(?:the )?same (?:goes )?(?:in|for|on|with)\b|^that(?:'s been| was| has been) (?:agreed"
        r"|decided|settled)\b",
        r"^(?:that|this|it)(?:'s| is) (?:\w+ ){0,3}(?:policy|law|tradition|standard|convention"
        r"|practice)\b",
        r"^that (?:one )?(?:is )?(?:carved|set|written) in stone\b",
        r"^that's the way (?:to|we|i|it)\b",
        r"^(?:that's|it's|that was|this is) a promise\b|\b(?:agreed to|approved|signed off on"
        r"|voted (?:for|on)|clear about|strict about|insists? on|asked for|decided on) (?:that"
        r"|this|it)\b",
        r"^(?:sorted|done|written|named|same|like (?:that|this)|that way|this way"
        r"|as)\b.*\b(?:everywhere|elsewhere|rest|always|in all|across)\b",
        r"^(?:(?:and|so|again),? )?(?:that|this|it|same|those|these|they)(?: one| rule)?(?:'s|'re)?"
        r" (?:goes? (?:for|throughout)|holds?|appl(?:y|ies)|counts?|is how|how we|what we|our"
        r"|is our|are our|a rule|the rule|is the rule|is a rule|is what we|always|was (?:decided"
        r"|agreed)|the way (?:we|i)|is the way (?:we|i)|is policy|policy|not negotiable"
        r"|non-negotiable|how i|is how i|standing)\b",
        r"^i'm (?:\w+ )?(?:picky|serious|strict|pedantic|particular|fussy) about (?:that|this|it)"
        r"\b",
        r"^(?:please )?(?:keep|bear) (?:that|this|it) in mind\b|^(?:that's )?worth (?:remembering"
        r"|noting)\b|^(?:please )?remember (?:that|this|it)[.!]*$|^(?:please )?(?:keep|stick) to"
        r" (?:that|this|it)\b|^we (?:all )?(?:do|agreed|decided|settled) (?:that|this|it|on that"
        r"|on this)\b|^(?:make|take) (?:a )?note\b|^note (?:that|this|it) down\b",
        r"^(?:always|every time|each time|everywhere|in every \w+|for every \w+|for all"
        r" (?:\w+ ?){1,3}|from now on|in future|going forward|applies to .+|not just (?:here|now"
        r"|today|this time)|without exception|no exceptions)[.!]*$",
    ),
    because=pattern(
        r"^each (?:one )?(?:of them )?(?:gets|has|needs|carries)\b",
        r"^we (?:cut|dropped|removed|banned|retired|threw|burnt|got|had|tried)\b",
        r"^(?:it |that |this |they )?(?:reads?|works?|looks?|makes?|keeps?|helps?|saves?|is|are"
        r"|scales?) (?:\w+ ){0,3}?(?:better|easier|faster|nicer|clearer|safer|longer|me|us"
        r"|them)\b|^(?:simple|long|short|big) \w+ (?:don't|are|make|hide)\b",
        r"^i (?:skim|review|read|learn|understand|work|think|can|am|have|find|always|never|use|like"
        r"|hate|get|don't read|can't)\b(?!.*\?)",
        r"^(?:they|it) (?:makes?|hides?|breaks?|keeps?|helps?|confuses?|takes?|causes?|rots?|lies?"
        r"|age|get in)\b|^nobody\b|^readers\b|^otherwise\b|^we don't \w+$|^a \w+ (?:hides"
        r"|breaks)\b",
    ),
    passing=pattern(
        r"\bwe\'ve been (?:through|over) (?:that|this|it)\b",
        r"\b(?:comes?|came) out\b",
        r"^the \w+ (?:restarts|reloads|freezes|flickers|jumps|stops|disappears|vanishes|hangs"
        r"|blinks|resets)\b",
        r"\b(?:is|are) (?:\w+ )?(?:gorgeous|beautiful|lovely|amazing|awful|terrible|fun)\b"
        r"|\bbtw$|, stop that$",
        r"\bhas been \w+ing\b|\bsince (?:lunch|monday|tuesday|wednesday|thursday|friday"
        r"|yesterday|this)\b|^(?:ha,? )?that's what i need\b|^nothing about\b",
        r"\bin (?:\w+ )?fail about\b|^the disk\b|\bsounds? right\b|^nothing happens\b"
        r"|\blook (?:fine|good) to me\b",
        r"\bcosts? (?:us|me)\b|^all i\b|^nothing (?:happens|works|changed)\b|\btakes (?:twice"
        r"|ages|long|forever|half)\b|\bis third party\b|^the rest\b|^(?:everything"
        r"|anything) (?:under|in|else)\b.*\bis\b|^without (?:the|it|this|that)\b",
        r"\bshould now\b",
        r"^(?:the|my|that|your) \w+(?: \w+)? (?:is|are|was|were) (?:always|never|still|at|in"
        r"|on)\b|\bare (?:useless|welcome|decoration|confusing|boring|great|nice|ugly"
        r"|in \w+\.\w+)\b|^careful\b|^hold (?:off|on)\b|\b(?:before|until) i can\b"
        r"|^nobody (?!but|except|other)\w+",
        r"\bi always (?:forget|get|lose|mix|end up|see)\b|\byou(?:'ll| will) find\b",
        r"\b(?:now|just) (?:has|have|uses?|comes?|looks?)\b|\b(?:has|have) now\b",
        r"^now\b|^no \w+ (?:was|were|have|has|had)\b|\bthey (?:fail|pass|work)\b|\b\w+ (?:tests?"
        r"|builds?|jobs?|pages?) (?:in \w+ )?(?:fails?|breaks?|hangs?|takes?|crash(?:es)?)\b"
        r"|^that's not what\b|\b(?:tests|builds|jobs) (?:only|just|still|sometimes) \w+"
        r"|^i (?:put|set|sent) .*\bon (?:monday|tuesday|wednesday|thursday|friday)\b",
        r"\b(?:never|always) (?:understood|understand|liked|got|had|was|were|did|saw|failed|knew"
        r"|\w+ed)\b(?! (?:in|with|on) \w+ing)|^i (?:only |usually |mostly |often "
        r"|rarely )*(?:ever )?(?:reply|answer|respond|forget|have to|need to|run a|sleep)\b"
        r"|\b(?:we're|i'm|we are|i am) (?:always|never)\b",
        r"\b(?:is|are|was|were|'s|'re)(?: currently| still| now| all| both| already)*(?:n't| not)?"
        r" (?:failing|broken|red|green|slow\w*|passing|down|done|ready|missing|wrong|flaky|stuck"
        r"|running|empty|outdated|gone|a mess|working|back|up|crashing|hanging|changed|full"
        r"|(?:fine|ok|okay)(?! in (?:this|our) )|good|great|nice|cool|weird|strange|right|going"
        r"|obsolete|attached|confused)\b",
        r"\b(?:failed|fails|crashed|crashes|passed|ran|happened|found|broke|noticed|tried|looked"
        r"|woke|started|finished|says|said|prints|printed|seems?|looks like"
        r"|turned out|wondering)\b",
        r"^(?:i|we) (?:have|had|got|get(?! lost)|see|saw|think|guess|will|'ll|can|could|was|were"
        r"|found"
        r"|want(?: you)? to|need(?: you)? to|need (?:a|an|this|the|that)"
        r"|want (?:a|an|this|the|that)|would like (?:a|an|to)|'d like (?:a|an|to|you))\b",
        r"\b(?:thanks|thank you)\b|^never (?:seen|heard|thought|knew|noticed)\b"
        r"|\bi always (?:get|forget|see|lose|end)\b|\bnothing$|\bthe title$|\byou always forget\b",
        r"^that's not what\b",
        r"^(?:i'm|we're|i am|we are) (?:working|trying|cutting|looking|getting|seeing|building|just"
        r"|going to|about to|not sure|done|submitting|thinking)\b",
        r"^(?:works?|done|nice|cool|top|great)\b|\b(?:yet|so far)\b|\byesterday\b|\bthis morning\b",
        r"^(?:it|that|this) (?!goes|is our|is how|applies|holds|never|always|must|may|needs"
        r"|has to)\w+",
        r"\bit's (?:a )?mess\b|\btalked to\b|\bjust said\b",
    ),
    task=pattern(
        r"\bin there\b",
        r"^(?:quiz|teach|tell) me (?:on|about)\b",
        r"^(?:please )?(?:turn|draft|read|import|convert|push|upgrade) (?:the|this|these|a|an|it"
        r"|them)\b",
        r"^i want an? (?:list|script|function|table|summary|page|test|button|report)\b"
        r"|^don't \w+ (?:it |this |that )?yet\b|, i want to (?:look|see|check)\b",
        r"^(?:when|after|once|before) you(?:'re| are)? (?:all )?(?:done|finished|ready|merge"
        r"|push|open the|commit this)\b",
        r"\b(?:to|in) \w+\(\)",
        r"^(?:please )?(?:strip|extract|parse|count|sort|filter|plot|rerun|backtest|profile"
        r"|compare|save|send|download|upload|search|replace|publish|batch|shellcheck|reproduce"
        r"|rewrite|lint)\b(?! \w+s (?:are|carry|have|hold|go|get|must|should|use|need|stay"
        r"|contain)\b)(?! (?:every|all|each|commits?|before|after))",
        r"^(?:please )?(?:find|fix|look|undo|revert|restore|merge|bump|roll|scale|extend|rewrite"
        r"|draft|proofread|delete|remove|rename|reproduce|investigate|debug|update|refactor|review"
        r"|implement|port|build|create|open|close|list|restart|deploy|release|convert|split"
        r"|translate|summari[sz]e|explain|mute|disable|enable|set|move|try|see|check|tell|wait|stop"
        r"|go|do|let's|continue|drop|cut|ignore|limit|leave) (?:me |us )?"
        r"(?:out |into |at |back |up |down |in |on |what |why |how )?(?:the |this |that |it\b|those"
        r" |these |them\b|my |his |her |a |an |\d|what |why |how |\w+[./]\w+|ahead|both|two)",
        r"^(?:please )?(?:use|add|put|make|write|run|show|give|keep|open|start|pass|call|name|tag"
        r"|round|build|commit|test) (?:me |us )?(?:the |this |that |it\b|those |these |them\b|a |an"
        r" |his |her |\d|only the)(?!(?:\w+ ){0,6}(?:every|each|all|always|never|prefix|suffix)\b)",
        r"^(?:add|write|create) a rule\b|^stop here\b|\bwe want to\b|^(?:add|write|create|build"
        r"|implement) (?:\w+ ){1,3}(?:for|to|that|in) (?:every|all|each|the"
        r"|\w+[./]\w+)\b(?!.* you (?:write|add|make|touch|change|create))|\w+\.(?:py|js|ts|go|rs"
        r"|java|c|cpp|h|tex|rb|php)\b.*$",
        r"^(?:can|could|would|will) you\b|\bplease (?:look|have a look|check|find|fix)\b",
        r"\bdo (?:that|this|it)\b(?! (?:throughout|everywhere|always|every|in))"
        r"|\b(?:this|that) (?:one|function|file|test|line|method|class|page|table|commit|branch"
        r"|endpoint|heading|script|button|bug|chapter|screen|query|job|ticket)\b",
        r"\btodo\b|^(?:i'll|i will)\b",
        r"^(?:let's|let us) (?:leave|postpone|build|try|see|do|start|begin|talk|move on)\b",
    ),
    retracts=pattern(
        r"\b(?:after all|changed my mind|scratch that|scrap that|take (?:that|it) back|instead"
        r"|no longer|turns out|not any ?more|forget|moved|switched|changed)\b"
    ),
    reverses=pattern(
        r"^(?:\w+[,.!]* ){0,2}?(?:not [\w ]{1,20} after all|wait|hold on|scratch that"
        r"|scrap (?:that|this)|actually"
        r"|on second thou?ghts?"
        r"|changed my mind|i(?:'ve)? changed my mind|never ?mind|forget (?!about the)\w+"
        r"|ignore (?:the|that|what|my)|correction|i take (?:that|it) back|sorry|no wait|strike that"
        r"|disregard|after all|not any ?more|update)\b"
    ),
    purpose=pattern(
        r"\b(?:step (?:one|two|three|\d)|next|finally|last(?:ly)?|after that|these (?:two|three"
        r"|four|steps)|in (?:this|that) sequence)\b",
        r"^(?:so,? )?(?:to|for) (?!example|instance|now|this)\w+|\bthen\b|\bfirst\b"
        r"|\bfollowed by\b",
        r"\b(?:is|are|gets?|get) (?:\w+ )?(?:built|done|run|made|deployed|published|tested"
        r"|generated|updated|\w+ed) (?:with|by|via|using|through)\b",
        r"\b\w+ing (?:\w+ ){0,3}?(?:is|means|goes|works)\b|\bin (?:that|this) order\b",
        r"\bthat's (?:the way|how)\b|\bthe way to\b|\bsteps?\b|\b(?:run|use) .+ (?:to|after"
        r"|before)\b",
        r"\b(?:builds?|deploys?|releases?|tests?|runs?|works?) with\b",
    ),
    cause=pattern(
        r"\bwants\b",
        r"\b(?:needs?|must|have to|has to|unless|without|otherwise|because|if|when|before|after"
        r"|first|always|instead|culprit|so|since|or|dies|breaks|fails|failed|only|requires?"
        r"|pass|use|set|export|fixed|caus\w+|missing|remember|reading|want|is|are)\b",
    ),
)
