"""The kinds of English words that the patterns are made of: what is made, done and chosen.

Each value is a group of a regular expression without a name, in lower case.
"""

# Things a developer or writer makes again and again; a rule about one of them is about its kind.
MADE = (
    r"(?:functions?|methods?|class(?:es)?|tests?|commits?|commit messages?|messages?|titles?"
    r"|headings?|headlines?|introductions?|intros?|summar(?:y|ies)|answers?|repl(?:y|ies)"
    r"|responses?|explanations?|comments?|docstrings?|variables?|names?|identifiers?|files?"
    r"|modules?|lines?|imports?|branch(?:es)?|branch names?|prs?|pull requests?|reviews?|changes?"
    r"|docs?|documentation|readmes?|changelogs?|reports?|e-?mails?|documents?|paragraphs?"
    r"|sentences?|sections?|scripts?|migrations?|constants?|types?|type hints?|error messages?"
    r"|log messages?|secrets?|dependenc(?:y|ies)|packages?|versions?|releases?|dates?|numbers?"
    r"|temperatures?|units?|tables?|lists?|bullets?|bullet points?|code|prose|texts?|drafts?"
    r"|quer(?:y|ies)|endpoints?|components?|hooks?|articles?|posts?|slides?|diagrams?)"
)
TOOLING = (
    r"(?:test runner|test command|test suite|(?:unit |integration |all )?tests?|build(?: command)?"
    r"|lint command|linter|formatter|type ?checker|package manager|build tool"
    r"|(?:default|main|release|staging|trunk|deploy) branch|deploy(?:ment)?s?|releases?|database"
    r"|ci|staging|production|(?:staging|production|dev|test) (?:server|environment|database|host)"
    r"|entry ?point"
    r"|config(?:uration)?(?: files?)?|dev server|port|(?:python|node|java|go|rust) version"
    r"|migrations?|licen[cs]e|command (?:to|for) [\w -]{2,40}|docs|documentation|logs|app|server)"
)
SELF = r"(?:i|we|the user|user|the team)"
ADVERB = (
    r"(?: (?:really|strongly|usually|generally|normally|mostly|mainly|typically|also|both|just"
    r"|still|always|definitely|much|personally|only|all))*"
)
VERBS = (
    r"(?:keep|use|run|write|put|add|make|commit|name|avoid|stop|start|answer|reply|respond|prefer"
    r"|format|indent|call|leave|include|ask|check|test|show|explain|document|limit|sign|squash"
    r"|rebase|review|split|group|sort|order|wrap|prefix|suffix|tag|push|pull|merge|deploy|build"
    r"|lint|type|annotate|spell|speak|talk|treat|mark|mention|quote|cite|link|list|give|tell|read"
    r"|open|close|create|delete|remove|drop|refactor|rename|move|update|bump|pin|install|import"
    r"|mock|measure|log|print|return|raise|throw|catch|handle|validate|verify|confirm|propose"
    r"|suggest|stick|follow|favou?r|choose|pick|set|turn|convert|translate|summari[sz]e|shorten"
    r"|draft|end|begin|attach|save|store|place|separate|say|work|assume|ensure|address|begin)"
)
EVENT = (
    r"(?:before|after|when(?:ever)?|on|prior to) (?:(?:you|we|i) |each |every |any |a |opening "
    r"|making |creating )*(?:commit|push|merge|rebas|releas|deploy|pull request|pr\b|review|edit"
    r"|answer|reply|refactor|migrat)\w*"
)
STYLE = (
    r"(?:(?:british|american|australian|plain|simple|formal) (?:english|spelling)|english|german"
    r"|french|spanish|tabs|spaces|(?:two|four|eight|2|4|8)[ -]spaces?|(?:single|double) quotes"
    r"|celsius|fahrenheit|metric(?: units)?|imperial units|type hints|type annotations|snake_case"
    r"|camelcase|kebab-case|conventional commits|semicolons|dark mode|light mode|24-hour time"
    r"|iso dates|present tense|(?:the )?imperative(?: mood)?|markdown|bullet points)"
)
HABIT = (
    r"(?:use|write|spell|code|program|develop|work with|test with|format|indent|run|commit|squash"
    r"|rebase|deploy|review|sign|name|type|read|host|ship|release|version|track|log|store|keep)s?"
)
# Each of what is yet to come; `all tests` and `every file here` are what already lies there.
EACH = (
    r"(?:(?:every|each|all(?= [\w-]+(?: [\w-]+)? (?:that )?you )) (?:new [\w-]+|commits?"
    r"|pull requests?|prs?|releases?|answers?"
    r"|repl(?:y|ies)|reviews?|messages?|merges?|deploys?|[\w-]+(?: [\w-]+)? (?:that )?you"
    r" (?:write|make|add|create|touch|change))\b)"
)
BOUND = (
    r"(?:at most|at least|no more than|no longer than|not longer than|no fewer than|shorter than"
    r"|longer than|limited to|under|below|within|up to|max(?:imum)?|only|never|always|kept|short"
    r"|to (?:one|two|three|four|five|ten|twenty|thirty|forty|fifty|a|\d+)|small|concise|brief"
    r"|simple|lower-?case|upper-?case|in (?:the )?\w+(?: \w+)? (?:tense|mood"
    r"|english|case)|in english)"
)
