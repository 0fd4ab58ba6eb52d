"""English: the language that the rules know best.

Longer than the habit: it is a list of words, read from top to bottom like a table.
"""

# ruff: noqa: RUF001  quotes, dashes and marks of other scripts are meant

from memory_write.offline.languages.english_words import (
    ADVERB,
    BOUND,
    EACH,
    EVENT,
    HABIT,
    MADE,
    SELF,
    STYLE,
    TOOLING,
    VERBS,
)
from memory_write.offline.lexicon import Lexicon, pattern

ENGLISH = Lexicon(
    name="english",
    common_words=frozenset(
        "the a an i we you is are to of in on for and or not do use my our never always please it "
        "me us tell what when this that these was were be as at by they them their your so if"
        " just all more "
        "have has can will about out up there which but one only been don doesn isn won any some"
        " than then "
        "because into over here how why who where let get got its my too also like want need make "
        "with from now must should keep prefer run every no don't before after that".split()
    ),
    opener=pattern(
        r"(?:ok(?:ay)?|good|great|nice|perfect|thanks(?: a lot| so much)?|thank you|cool|right|fine"
        r"|well|hi|hello|hey|yes|yeah|yep|sure|alright|all right|so|also|and|but|then|please|oh|ah"
        r"|by the way|btw|fyi|one more thing|another thing|just so you know|for the record"
        r"|for context|as you know|in short|again|first(?: of all)?|plus|listen|look|note"
        r"|h+m+|important|reminder|though|anyway|just)\b[\s,.!:;–—-]*"
    ),
    correction=pattern(
        r"i(?:'d| had)? said [^,]{1,60}, (?:forget|scratch) (?:it|that), ",
        r"(?:(?:no|nope)(?=[,.!:;–—-]|$)|wrong|incorrect|stop|not like that|not quite|actually"
        r"|rather|instead|(?:forget|scratch) (?:it|that)(?=[,:–—-])"
        r"|that(?:'s| is) (?:wrong|not right|incorrect|not what i (?:asked|wanted|meant|said))"
        r"|(?:as )?i(?:'ve)? (?:already )?(?:said|told you|asked|meant)(?: before"
        r"| already)?(?: that"
        r"| to)?)\b(?!-)[\s,.!:;–—-]*",
    ),
    remember=pattern(
        r"(?:(?:can|could|would) you )?(?:please )?(?:remember|memori[sz]e|keep in mind"
        r"|bear in mind"
        r"|make a note|take note|note(?: down)?(?= that\b|:|,| for (?:the|later"
        r"|next)\b)(?: for (?:the future|later|next time))?"
        r"|don't forget|do not forget|never forget|save (?:to|in) memory|add to (?:your )?memory)"
        r"(?: for (?:next time|later|the future))?(?:,| that| this|:| -)*(?: to)? "
    ),
    question=pattern(
        r"^(?:what(?! i (?:want|prefer|like|need))|how|why|which|who|whom|whose|when(?= (?:is|are"
        r"|do|does|did|will|should|can))"
        r"|where(?= (?:is|are|do|does|did|can|could|should|was|were|would|will)\b)|is|are|am|was"
        r"|were|do(?! not| ask| tell| warn| keep| check| include| use)|does|did|have|has|had|can"
        r"|could|would|will|should"
        r"|shall|may"
        r"|might|isn't|aren't|don't (?:i|we|you)|doesn't|didn't|won't|any idea|is there|are there)"
        r" (?!that said)",
        r"^(?:tell me|explain|show me|do you|remind me|let me know) (?:how|what|why|which|whether"
        r"|if"
        r"|when|where|who)\b",
        r"^(?:i wonder|wondering|not sure|i don't know|i'm not sure|no idea|curious)\b",
        r"\b(?:i'm|i am|we're) not sure\b",
    ),
    hypothetical=pattern(
        r"^if \w+ (?:ever|breaks?|happens|goes|rejects?|wants?|asked?|wins?|leaves?)\b|\b(?:if"
        r"|when) we (?:ever|had|get)\b|\bsome ?day\b|\bat some point\b|\bwe'd (?:have to"
        r"|need to)\b|\b(?:we|i) (?:might|could)\b|\bwould (?:it|that|they)\b|\bwondering\b",
        r"^i (?:think|believe|suspect|guess) (?:the|it|that|there|they)\b",
        r"^(?:suppose|supposing|imagine|assume(?! i (?:know|am|have|understand))|assuming"
        r"|pretend|say we|let's say|hypothetically"
        r"|in theory|theoretically|what if|for example|for instance|e\.g\.|for the sake of)\b",
        r"\b(?:maybe|perhaps|might|possibly|probably|someday|some day|eventually|one could"
        r"|i guess|thinking (?:of|about)|considering|toying with|tempted|it would be (?:nice|cool"
        r"|great|good)|would be|would have|could have|wouldn't|couldn't|may want|were to"
        r"|(?<!as[ ])if (?:i|we|you) (?:had|were|wanted|preferred|used|decided|lived|moved|switched"
        r"|chose))\b(?<!qq)",
        r"^if\b(?!.*\b(?:always|never|say so|tell me|ask me|let me know|flag it|rename|warn me"
        r"|point it out|don't (?:just )?\w+)\b)",
        r"\b(?:i'd|i would|we'd|we would) (?!rather|prefer|like|love|want|appreciate"
        r"|be (?:happier|glad|grateful))",
        r"\b(?:should|could) (?:we|i) \b",
    ),
    once=pattern(
        r"\bis (?:attached to|using|debugging|still on) it\b",
        r"\b(?:for|during|over|within) the (?:next|following|coming|rest of|remaining|remainder)\b"
        r"|\b(?:till|'til) (?!further)\w+"
        r"|\bthe rest of (?:the|this) (?:day|week|session|call|chat)\b"
        r"|\b(?:during|in) this (?:session|chat|call|meeting|conversation|thread|pr|ticket)\b"
        r"(?! templates?)|\b(?:until|till) \d{1,2}(?::\d\d|\s?(?:am|pm|o'clock))",
        r"\bin (?:a|an|one|two|five|ten|fifteen|twenty|thirty|\d+|a few) (?:minutes?|hours?"
        r"|days?)\b",
        r"\bfor (?:a|one|two|the next|a few) (?:minutes?|moment|second|seconds|bit|while|sec"
        r"|hour|hours|tick)\b|\b(?:just|only) (?:trying|testing|to (?:see|try|test|check)"
        r"|for (?:fun|the (?:upload|demo|screenshot|test|meeting|record)))\b"
        r"|\bi'll (?:probably )?(?:revert|put|change|scale|remove|undo|throw|set|turn|switch"
        r"|delete|drop|restore) (?:it|them|that|this) ?\b|\bwhile (?:we|i|you) (?:debug|test"
        r"|wait|look|investigate|check|sort)\b|\b(?:afterwards|this once|only this"
        r"|for this (?:\w+ )?(?:run|one|only|commit|release|branch|table|page|ticket|question"
        r"|sprint|screenshot)|just for (?:this|now|today)|an? experiment|throwaway|quick hack"
        r"|of this (?:page|file|table|function)|in the draft)\b|\bfor \w+ only\b"
        r"|\bonly for (?:this|now|today|the (?:demo|test|moment|release|upload))\b|\b(?:battery"
        r"|deadline|demo) (?:is|in)\b",
        r"\b(?:just |only )?(?:this|that) (?:once|time|one time)\b",
        r"\bfor (?:now|today|this (?:one|once|commit|task|change|pr|run|time|test|file|function"
        r"|session|moment|demo))\b",
        r"\b(?:right now|at the moment|temporarily|for the moment|for the time being|today only"
        r"|until (?=(?:i|i'm|i've|i'll|you|tomorrow|tonight|later|then|noon|lunch|monday|tuesday"
        r"|wednesday|thursday|friday|saturday|sunday|next (?:week|month|monday|sprint)|this|\d"
        r"|after|the (?:demo|meeting|call|release|review|weekend|end|fix|deploy|launch)|we're|we've"
        r"|we (?:know|have|decide|hear|talk|meet|fix|sort))\b)"
        r"|just now|as a one-?off|one-?off|an exception|in this case|here only"
        r"|(?<!not[ ])only here|tonight|tomorrow|this (?:week|morning|afternoon|evening|month"
        r"|sprint))\b",
        r"\btoday\b",
    ),
    others=pattern(
        r"^(?:the )?(?:docs|documentation|manual|spec|handbook|guide|readme|wiki) (?:of|for|on"
        r"|from) [\w.-]+"
        r" (?:says?|claims?|wants?|requires?|states?|demands?)\b",
        r"^(?:paper|article|book|post|thread|video) i (?:read|saw|found|watched)\b",
        r"^(?:the|my|our) \w+'s (?:rule|motto|advice|opinion|view|theory|habit)\b",
        r"(?<!rather[ ])\byou (?:also |just |once )?(?:said|told|suggested|recommended|mentioned"
        r"|claimed|wrote"
        r"|stated)\b",
        r"^(?:the|my|our|a|an|some|every) (?!team\b|user\b)\w+ (?:wants|would like|insists"
        r"|demands|prefers|hates|loves|likes|asks|wishes|requests)\b",
        r"\b(?:predecessor|ex-colleague|forum|somebody|someone|people|folks"
        r"|they)\b.{0,30}\b(?:had a rule|rule was|used to|say|think|believe|claim)\b",
        r"^(?:my|our|the|a|an|some|one|his|her|their) (?:old |new |former |other )?(?:husband"
        r"|wife|partner|supplier|vendor|manager|boss|designers?|contractors?|customers?|users?"
        r"|visitors?|clients?|lead|professor|supervisor|sister|brother|son|daughter|mother"
        r"|father|friends?|intern|neighbou?rs?|curator|reviewers?|marketing|sales|management"
        r"|legal|support|ops|product owner|pm|cto|ceo|consultant|teacher|auditor|landlord"
        r"|competitors?|admin|tester|devs?|developers|guy) (?!is not|are not|and i\b)(?:never "
        r"|always |also |really |only |just |once |even )*[a-z]+(?:s|ed)?\b",
        r"^(?:add|write|create|implement) an? (?:rule|check|validation|test|setting) (?:that"
        r"|so that|which)\b",
        r"^(?!i\b|we\b)(?:[\w'&.-]+,? ){1,6}mentioned\b",
        r"^(?!(?:(?:as|like|what|when|that|because|well|and|but) )*(?:i|we|i've"
        r"|we've)\b)(?!.*\bthe user\b)(?!on second\b)(?:[\w'&.-]+,? ){1,6}(?:says|said|wrote"
        r"|thinks|thought"
        r"|claims|claimed|suggests|suggested|recommends|insists|reckons?|argues|believes?"
        r"|complains?|complained|tweeted|posted|commented|keeps? saying)\b(?! (?:before|already"
        r"|to (?:me|you)))",
        r"\b(?:old|former|previous) (?:docs?|runbook|wiki|readme|guide|policy|page|rules?)\b",
        r"\b(?:readme|docs?|documentation|manual|log|logs|error|output|file|page|article|blog"
        r"|issue|ticket|comment|he|she|they|someone|somebody|people|everyone|some people|colleague"
        r"|boss|manager|friend|website|site|tool|linter|compiler|assistant|agent|model|message"
        r"|style guide|guide|tutorial|book|spec|paper|test|tests|stack overflow|reviewer|customer"
        r"|client|it|paste|config|template|prompt|email|e-mail|sign|poster)"
        r" (?:also )?(?:says|said|states|stated|claims|claimed|wrote|writes|mentions|mentioned"
        r"|recommends|recommended|suggests|suggested|prefers|preferred|wants|wanted|prints"
        r"|printed|reads|tells|told|insists|likes|asks|asked|advises|argues|demands)\b",
        r"\b(?:according to|apparently|supposedly|allegedly|quoting|quote|quoted from|i read that"
        r"|i heard|it says|they say|reportedly)\b",
        r"^(?:my|our|his|her|their) (?:\w+ )?(?:colleague|boss|manager|friend|brother|sister|wife"
        r"|husband|partner|client|customer|teacher|father|mother|coworker|co-worker|lead)\b",
        r"^(?:the |our |most |some |all )?(?:users|customers|visitors|readers|clients"
        r"|people) (?:should|must|want|prefer|like"
        r"|can|may|need|live|use)\b(?!.*, so\b)",
        r"\bthe user (?:should|must|can|clicks|enters|logs|sees|gets|wants to|needs to|is (?:not )?"
        r"(?:logged|authenticated|able|redirected|shown|asked|prompted))\b",
    ),
    denied=pattern(
        r"^i always (?:forget|lose|mix up|misread|mistype)\b|\bno idea (?:why|how|what)\b",
        r"^nothing about\b",
        r"\bi said nothing\b",
        r"\b(?:i|we|you) (?:don't|do not|never) (?:say|said|mean|meant|care|mind"
        r"|have to(?! (?:greet|thank|apologi[sz]e|sum|ask|repeat|explain|confirm|check with))"
        r"|need to(?! (?:greet|thank|apologi[sz]e|sum|ask|repeat|explain|confirm|check with))"
        r"|necessarily)\b",
        r"\bprefer not to\b",
        r"\b(?:no need(?! to (?:greet|thank|apologi[sz]e|sum|ask|repeat|explain|confirm"
        r"|check with))"
        r"|not necessary|not that i|it's not that|isn't that|never said|didn't say"
        r"|did not say|haven't decided|have not decided|not decided|undecided|doesn't matter"
        r"|does not matter|don't care|do not care|either is fine|both are fine|up to you"
        r"|whatever you (?:like|prefer|want)|not a rule|no strong (?:opinion|preference)s?"
        r"|no preference|not always|needn't|not every|don't bother(?! \w+ing)|never mind|nevermind"
        r"|forget (?:it|that|what)|ignore (?:that|what))\b",
        r"\b(?:am|is|are|was)(?: not|n't) (?:saying|asking|suggesting)\b",
    ),
    deictic=pattern(
        r"\b(?:this|these|those)\b",
        r"\bthat (?:one|file|function|test|line|method|class|change|way|thing|part|commit|branch"
        r"|folder|directory|module|page|script|option|button|bug|error|message|paragraph"
        r"|section)\b",
        r"\b(?:like|of|with|on|at|do|use|want|see|try|test|check|fix) that$",
        r"\b(?:above|below|following|again|the (?:first|second|third|last|other|former|latter|new"
        r"|old|next|previous|current|same|failing|broken) \w+)\b",
        r"\b(?:the (?:first|second|third|last|other|former|latter|latest)|now|it)$",
        r"\bhere is\b",
    ),
    decision=pattern(
        r"^(?:the |all |our )?(?:\w+ )?(?:csvs?|xml|json|feeds?|exports?|imports?|api|schema"
        r"|dates|prices"
        r"|amounts|timestamps|columns|delimiter|encoding)\b(?!.*\b(?:broken|down|failing|slow"
        r"|fixed|working|fine|green|red|ready|done|empty|missing"
        r"|gone|wrong|okay|ok)\b).* (?:is|are|comes?|uses?) .*\b(?:now"
        r"|these days)$|^(?:we\'re |we are )?(?:going )?back to [\w.]+ \d|\bit is, \w+ (?:was|is"
        r"|lost)\b"
        r"|\bvoted (?:down|against|for)\b",
        r"\b(?:i|we|the team)(?:'ve| have)?(?: all| now| just| finally)? (?:decided|agreed|settled"
        r"|chose|picked|opted|resolved|concluded|standardi[sz]ed|switched"
        r"|migrated) (?!nothing)(?:on|to|for"
        r"|that|against|not|from|the|with|\w)",
        r"\b(?:i|we)(?:'re| are|'ll| will) (?:going with|going to (?:use|stick|stay|go with)"
        r"|go with|sticking with|staying with|stick with|stay with|switching to|moving to"
        r"|dropping|standardi[sz]ing on|using) (?!it\b)",
        r"\b(?:the |our )?decision (?:is|was)\b",
        r"^(?:decided|agreed|decision):? ",
        r"\bso (?:the )?[\w-]+(?: [\w-]+){0,3} it is\b",
        r"^let(?:'s| us) (?:go with|use|stick (?:with|to)|stay with|settle on|standardi[sz]e on"
        r"|switch to|drop|agree (?:on|to|that)) ",
    ),
    profile=pattern(
        r"\bi(?:\'m| am) not (?:really )?a (?:programmer|developer|coder|engineer)\b|\bi(?:\'m|"
        r" am) an?"
        r" \w*(?:ologist|ician|onomist|emist|arian|urse|urist|inguist|grapher)\b",
        r"\bi come from [\w#+.]+$|\bi\'m (?:new to|coming from) [\w#+.]+$",
        r"\b(?:i|we|the user)(?:'m| am|'re| are| is)? (?:currently )?(?:lives?|resides?|living"
        r"|based|located|grew up) (?:in|near|at|to)\b",
        r"\b(?:i|the user) (?:just |recently )?(?:moved|relocated) (?:in|near|at|to)\b",
        r"\b(?:i'm|i am|the user is) (?:from|in) (?!a |an |the (?:future|past|mood|middle|process"
        r"|file|same"
        r"|wrong|right)|favou?r|trouble|charge|doubt|progress)[\w]",
        r"\b(?:i'm|i am|the user is) (?:an? )?(?:[\w-]+ ){0,3}?(?:developer|engineer|programmer"
        r"|designer|scientist|student|teacher|researcher|writer|manager|analyst|architect"
        r"|consultant|freelancer|beginner|maintainer|author|editor|admin|administrator|physicist"
        r"|doctor|lawyer|accountant|journalist|translator|vegetarian|vegan|colou?r-?blind"
        r"|left-handed|dyslexic|native speaker|new to \w+|fluent in \w+|responsible for .+)\b",
        r"\b(?:my|the user's) (?:full |first |last |nick)?(?:name|time ?zone|native language"
        r"|mother tongue|first language|editor|shell|os|operating system|job|role|pronouns"
        r"|home ?town|city|country|company|employer|keyboard(?: layout)?|locale|birthday|github"
        r"|email|e-mail|handle|username|laptop|machine|default \w+|preferred \w+) (?:is|are|=)\b",
        r"^(?:i|the user) (?:also |mostly |mainly |usually |only )?uses? (?!the |this |a |an "
        r"|it\b|that |your |my |these |those |some |both |two |to |one )[\w.+-]+(?: [\w.+-]+)?"
        r"(?: (?:as|for|on|with) .+)?$",
        r"^(?:please |you can )?call me (?!back|when|if|later|in\b)",
        r"\b(?:i|the user) works? (?:at|for|as|remotely|from|in) (?!it\b|this\b|now\b|order\b)",
        r"\b(?:i|the user) speaks? (?!with|to|about)",
        rf"\b(?:i|the user) (?:also |mostly |mainly |usually |normally )?(?:uses?|thinks? in"
        rf"|reads?)"
        rf" {STYLE}\b",
        r"\b(?:i|the user) (?:also |mostly |mainly |usually |normally |always )?(?:writes?|spells?)"
        r" (?:in |with )?(?!a |an |the |this |it |some |to |about |one |code\b|tests?\b)\w+",
    ),
    preference=pattern(
        r"\bi\'d (?:much )?rather you \w+|\bi would rather you \w+",
        rf"\b{SELF}{ADVERB}(?:'d| would)?{ADVERB} (?:prefers?|favou?rs?|insists? on|hates?"
        r"|dislikes?|can't stand|cannot stand|am allergic to|am a (?:big )?fan of"
        r"|(?:don't|do not|doesn't|does not) (?:like|want to see|use|believe in|write|allow)"
        r"|(?:no longer|never|don't any longer) (?:wants?|likes?|uses?|prefers?|writes?)"
        r"|rather (?:have|see|use|you|not|we)|('d|would) rather) ?",
        r"\b(?:my|our|the user's) (?:strong |general |clear )?(?:preferences?|rules?|conventions?"
        r"|style|policy|habit|standard) (?:is|are|for)\b",
        r"\b(?:i'm|i am|we're|we are) (?:a )?(?:big |huge )?(?:fans? of(?! yours| this| that)"
        r"|against(?! the| it| this| that)|in favou?r of"
        r"|used to|allergic to|picky about)\b",
        rf"\b(?:i|we) (?:always|never|usually|normally|generally|typically|mostly) {HABIT}\b",
        r"\b(?:i|we) (?:don't|do not|no longer) (?:use|write|commit|push|merge|allow|mock|like)\b",
    ),
    desire=pattern(
        rf"\b{SELF}{ADVERB}(?:'d| would)?{ADVERB}(?: don't| do not| doesn't)? (?:wants?|likes?"
        rf"|loves?|needs?|expects?"
        r"|requires?|(?:am|are|is) (?:happy|happiest) with|cares? about|values?|appreciates?)\b",
    ),
    generic=pattern(
        r"\b(?:every|each|all|any|never|always|everywhere|only|at most|at least|no more than"
        r"|whenever|in general|by default|without (?:asking|my|permission|checking)|anywhere"
        r"|throughout|consistently|per)\b",
        rf"\b(?:wants?|likes?|loves?|expects?|requires?|values?|appreciates?|needs?)(?: my| our"
        rf"| your| the| to (?:see|have|get|keep))? (?:[\w-]+ ){{0,2}}{MADE}(?: to\b| in\b"
        rf"| with\b| without\b| that\b|$)",
        r"\b(?:wants?|likes?|loves?|values?|appreciates?) (?:(?:small|short|clean|simple|concise"
        r"|brief|plain|explicit|direct|frequent|tiny|atomic|strict|dark|quiet|honest"
        rf"|focused),? )+{MADE}",
        rf"\b(?:in|on|for) (?:my|our|your) {MADE}",
        rf"\b(?:wants?|likes?|loves?) {STYLE}\b",
    ),
    rule=pattern(
        r"^leave (?!it\b|this\b|that\b|them\b|me\b|him\b|her\b|us\b)[\w./-]+(?: [\w./-]+)? alone$",
        rf"^(?:(?:in|for|on|across) [^,]{{2,40}},? )?(?:(?:every|each|all|any|no|our|my|new|your)"
        rf" (?!users?\b|customers?\b)[\w-]+(?: [\w/-]+){{0,4}}?|(?:the )?(?:[\w-]+ ){{0,2}}{MADE}"
        rf"(?: (?:in|of|for) [\w-]+(?: [\w-]+)?)?)"
        r" (?:must|should|shall|may|can|has to|have to|needs? to|ought to|(?:is|are) to"
        r"|(?:is|are) (?:not )?(?:supposed|expected|required|allowed) to|musn't|mustn't|shouldn't"
        r"|can't|cannot|gets?|needs?)(?: not| never| always| only| all)? \w+",
        rf"^(?:(?:in|for|on) [^,]{{2,40}},? )?(?:(?:every|each|all|any|no|our|my|the) )?(?:[\w-]+ )"
        rf"{{0,2}}{MADE}(?: (?:in|of|for) [\w-]+(?: [\w-]+)?)? (?:is|are|stays?|remains?|comes?"
        rf"|goes|go|have|has|use|uses|contain|contains|starts?|ends?|begins?|follows?|carry|lives?"
        rf"|belongs?)(?: to be| all| written| kept)* {BOUND}\b",
        rf"^(?:at most|max(?:imum)?(?: of)?|no more than|not more than|only|never more than"
        rf"|a maximum"
        rf" of|up to) (?:one|two|three|four|five|\d+|a) .*\b{MADE}\b",
        rf"^no (?:longer |more )?(?:[\w-]+ ){{0,3}}{MADE}"
        r"(?: (?:in|longer|without|over|above|with|of|on|at|to) .+| please|,? ever)[.!]*$",
        r"^no (?:emojis?|tabs|semicolons|abbreviations|exclamation marks|force pushes|jargon"
        r"|adverbs"
        r"|smileys|filler|passive voice|globals|print statements|magic numbers"
        r"|trailing whitespace|wildcard imports)(?: (?:in|on|at|to) .+| please|,? ever)?[.!]*$",
        rf"^{MADE}: (?:at most |max(?:imum)? |only )?(?:one|two|three|four|five|\d+) ",
        rf"^(?:[\w-]+ )?{MADE} (?:(?:start|end|begin)s? with|(?:use|follow)s?) (?:{STYLE}"
        rf"|the ticket"
        r"|a ticket|an? \w+ (?:prefix|verb|letter|number))",
        r"^(?:everything|all text|all prose) (?:should|must|has to|is to) ",
        rf"^no qq (?:in|on|at) .*\b{MADE}\b",
        r"^(?:one|two|three|\d+) [\w-]+ (?:max(?:imum)?|at most|tops|or less)(?: (?:for|per"
        r"|in) .+)?",
        r"\b(?:it's|it is) (?:make|always|never) ",
    ),
    standing=pattern(
        r"\b(?:from (?:now|here|this point|today) on(?:wards?)?|going forward|moving forward"
        r"|henceforth|in (?:the )?future|by default|as a rule|in general|every time|each time"
        r"|any ?time|whenever|always|never|permanently|until further notice|as a habit"
        r"|for all (?:future|my|our|new)|every single time|without exception|at all times"
        r"|in all (?:my|our) \w+|as a general rule|generally|from then on)\b",
    ),
    imperative=pattern(
        rf"^(?:{VERBS}|don't|do not|never|always|be|no|try to|make sure|be sure) ",
        r"^(?:you|we) (?:should|must|shall|have to|need to|ought to) ",
    ),
    standing_order=pattern(
        rf"^{VERBS} .*\b{EVENT}\b(?! the\b| my\b| our\b)",
        rf"^{EVENT}\w*,? .*\b{VERBS}\b",
        r"^(?:use|run|call|write|choose|pick|prefer|say|spell|type|install|import|import from|make)"
        r" .+ (?:instead of|rather than|over|and not|, not|not) (?!the (?:first|second|other))\w+",
        r"^(?:prefer|avoid|favou?r) (?!the (?!words?\b|phrases?\b)|doing that)\w+",
        rf"^(?:keep|make|write|limit|cap) (?:all |every |each |your |my |our )?(?:[\w-]+ )"
        rf"{{0,2}}(?:{MADE})(?<!\bit) (?:\w+ )?(?:to )?{BOUND}\b",
        rf"^(?:keep|make|write|prefer) (?:[\w-]+ ){{0,1}}(?:small|short|atomic|concise|focused"
        rf"|tiny)"
        rf" (?:[\w-]+ )?(?:{MADE})s?\b",
        r"^(?:don't|do not|never|stop|no more|please don't|avoid) (?:ever )?(?:us|add|writ|put"
        r"|creat"
        r"|includ|commit|push|mock|import|abbreviat|mix|squash|rebas|leav|insert|generat|explain"
        r"|repeat|apologi[sz]|shorten|nam|forc|merg|amend|wrap|delet|remov|edit|ask|start|end"
        r"|begin|call|sa|install|translat|prais|flatter)(?:e|ing|ting|ning|ping|y|ying)?(?:$"
        r"|(?= (?!the (?!words?\b)|this |that |it\b|my |those |these |a |an |anything|any of"
        r"|yet)))",
        r"^(?:don't|do not|never|stop) .+ without (?:asking|my|permission|checking|a review|tests)",
        rf"^(?:(?:small|short|tiny|atomic|focused|concise|clean|simple),? )+{MADE}"
        r"(?:,? (?:please|only|always))*$",
        rf"^use {STYLE}\b",
        rf"^(?:write|answer|reply|respond|speak|spell|name|format|indent|put) (?:.+ )?(?:in|with)"
        rf" {STYLE}\b",
        rf"^(?:add|put|include|write|use) .+ (?:on|to|in|for|with|at the (?:top|end) of) {EACH}",
        rf"^{VERBS} {EACH}",
        r"^(?:ask|check with|confirm with) (?:me )?(?:first )?before (?!the |this |that )\w+",
        rf"^when(?:ever)? (?:you|we) (?:write|change|add|edit|create|touch|review|answer|reply"
        rf"|explain|refactor|name|use|make|draft|open|close|fix|delete|rename) [^,]+, {VERBS}\b",
        rf"^{VERBS} (?!the |this |that |it\b).+, not (?:in|with|on|under|at|next) ",
        r"^stick (?:to|with) (?!the (?:first|second|other|plan))\w+",
    ),
    corrected=pattern(
        r"^\S+(?: \S+)?, not (?!the |that |this |it\b)\S+",
        r"^(?:use|run|call|write|say|name|spell|type|put|keep|answer|reply|install|import|make|add"
        r"|format|indent|stick|go|commit|deploy|test|build)(?: \w+)? (?!the (?:first|second|other"
        r"|last)|it\b|that\b|this\b|them\b)\S+",
        r"^(?:we|i|you) (?:use|run|write|call|name|say|spell|deploy|test|build|store|keep"
        r"|format)\b",
    ),
    fact=pattern(
        rf"^(?:(?:in|for|on) [^,]{{2,40}},? )?(?:the |our |my )?{TOOLING}(?: (?:of|for|in|on|here"
        rf"|at)(?: [\w./-]+){{0,3}})? (?:is|are|=|runs?|lives?|uses?|goes? through|needs?|requires?"
        rf"|listens? on|has to be run|must be run|get run|gets run|work with|works with|start with)"
        rf"(?: (?:run|done|started|executed|called|launched|built|handled|managed))?(?: (?:with|by"
        rf"|via|through|on|in|from|using|only|always|at))* \S",
        rf"^(?:to|for) (?:run|running|execute|test|testing|build|building|deploy|deploying|lint"
        rf"|linting|format|formatting|release|releasing|start|starting|install|installing|check"
        rf"|checking|{TOOLING})[^,]{{0,40}},? (?:you |we |i |just |please |always )*(?:use|run"
        rf"|call"
        rf"|type|execute|do|need|have to|go|with|it's|it is)\b",
        rf"^(?:use|run|call|execute|type) .+ (?:to|for) (?:run(?:ning)? |execut\w+ "
        rf"|start(?:ing)? )?"
        rf"(?:the |all |our |my )?{TOOLING}\b",
        r"^(?:we|i|you|the user|one)(?: always| usually| can| should| must| have to| need to"
        r"| normally)* (?:run|runs|execute|executes|start|starts|build|builds|deploy|deploys|test"
        r"|tests|lint|lints|format|formats|release|releases|publish|install|track|host|store|manage"
        r"|manages)(?: [\w'/-]+){0,4}? (?:with|via|using|through|by|on|from|in) \S",
        rf"^\S+(?: [\w:./-]+){{0,3}} (?:runs|is how (?:we|you|i) run|is what runs|starts|executes) "
        rf"(?:the |all |our |my )?{TOOLING}\b",
        rf"^(?!it |that |this |there |here )[\w.-]+ (?:is|are) (?:our|my|the) (?:default |main "
        rf"|only )?{TOOLING}\b",
        r"^(?:we|the project|the repo|the codebase|the app|the service|the team) (?:uses?|runs? on"
        r"|targets?|supports?|is written in|relies on|depends on|ships?) (?!it\b|this\b|that\b)\S",
    ),
    status=pattern(
        r"\b(?:work|job|stuff) as (?:always|usual|ever)\b",
        r"\b(?:is|are|was|were|runs?|needs?)(?: currently| still| now| all"
        r"| both)*(?:n't)? (?:failing"
        r"|broken|red|green|slow\w*|passing|down|done|ready|fixed|missing|frozen|wrong|here|there"
        r"|still"
        r"|now|too|very|so|really|(?:fine|ok|okay)(?! in (?:this|our) )|flaky|stuck|running|empty"
        r"|outdated|gone|a mess"
        r"|complaining|unhappy|happy|working|out of|in the way|being|on fire|fast\w*|forever|long"
        r"|a bit|not (?:working|running|passing|there|done|ready|needed)|an? \w+ of|back|up"
        r"|crashing|hanging|changed|unreachable|full)\b",
        r"\b(?:should|must|has to|have to|needs? to) (?:now )?(?:pass|work|fail|exist|have been"
        r"|be (?:fine|ok|okay|green|there|broken|down|wrong|fixed|done|ready|possible|enough|gone"
        r"|failing|passing|a|an|the|in the|something|somewhere|rerun|re-run|able))\b",
        r"\b(?:ran|found|failed|passed|crashed|exists?|left|changed|yet|so far|already)\b",
        r"^(?:i|we) (?:need|want|would like|'d like) (?:to|you to|help|more)\b"
        r"(?!.*\b(?:always|never|from now on|whenever|every time|(?:before|after) (?:every"
        r"|each))\b)",
        r"^(?:i|we) (?:need|want|would like|'d like) (?:a|an|the|some)\b"
        r"(?!.*\b(?:always|never|every|each|all|any|from now on)\b)",
        r"\b(?:don't|do not) like the \w+$",
        r"\b(?:chose|picked|decided to \w+|agreed to|agreed on) the (?:\w+ )?\w+$",
        r"\b(?:tell|show|ping|send|give|remind) me\b(?!.*\b(?:always|every|from now on)\b)",
        r"\bin use$",
        r"\bneeds? (?:an? |the |some |more )?(?:restart|updat|work|fix|rest|look|help|clean|rewrit"
        r"|refactor|review|attention|love)\w*",
        r"\b(?:a lot of|too (?:much|many))\b",
        r"\bto (?:pass|work|succeed|be (?:fixed|green|gone|deleted))$",
        r"\bin (?:\w+ )?(?:minutes?|hours?|seconds?|a moment)\b",
        r"^(?:i|we) like (?:it|that|this|how|what|the|your)\b",
        r"\b(?:prefer|like|want|need) (?:it|that|this|the (?:first|second|third|other|last|former"
        r"|latter|one|version|option|approach|idea|plan|design))\b",
        r"\b(?:i|we)(?:'m| am|'re| are) using (?:it|this|that|the|your|a |an )",
        r"\b(?:always|never) (?:get|gets|fail|fails|crash|see|forget|forgets|hit|lose|remember"
        r"|happens?|works?|worked|returns?|end up|seems?|knew|know|understood|heard|thought)\b",
        r"^the (?:[\w-]+ ){0,2}(?:function|method|class|test|file|module|line|script|component"
        r"|endpoint|query|hook|page|button|parser|result|value|output) (?:should|must|needs?|has to"
        r"|may|can)\b",
        r"\blet(?:'s| us) use (?:the|this|that|a|an|it)\b",
    ),
    project=pattern(
        r"\b(?:in|for|within|across|throughout|inside) (?:this|the|our|that) (?:repo|repository"
        r"|project|code ?base|workspace|package|service|app|monorepo|team|code)\b",
        r"\b(?:here|in here|around here)$",
        r"^(?:in|for) [\w.-]*[_/-][\w./-]+,? ",
        r"\bthis (?:repo|repository|project|code ?base|workspace)\b",
        r"\beverywhere(?: else)? (?:in|on|across) (?!my\b|all\b)",
    ),
    everywhere=pattern(
        r"\bin (?:any|all|none|each) of my\b",
        r"\b(?:everywhere(?!(?: else)? (?:in|on|across) (?!my\b|all my\b))|in (?:all|every|any)"
        r" (?:my |our "
        r"|of my )?(?:projects?|repos?"
        r"|repositor(?:y|ies))|across (?:all )?(?:my )?projects|in general|no matter which project"
        r"|whatever the project|globally|for all my projects)\b",
    ),
)
