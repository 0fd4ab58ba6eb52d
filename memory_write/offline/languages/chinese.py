"""Chinese: the common forms. It is told by its script, so it needs no function words."""

# ruff: noqa: RUF001  quotes, dashes and marks of other scripts are meant

# ruff: noqa: RUF001  quotes, dashes and marks of other scripts are meant

# ruff: noqa: RUF001  quotes, dashes and marks of other scripts are meant

# ruff: noqa: RUF001  quotes, dashes and marks of other scripts are meant

from memory_write.offline.lexicon import Lexicon, pattern

CHINESE = Lexicon(
    name="chinese",
    common_words=frozenset(),
    opener=pattern(
        r"(?:好的?|谢谢|嗯|对了|另外|还有|请|顺便说一下|不错|很好|注意)[\s,。!:;、,!:;]*"
    ),
    correction=pattern(r"(?:不对|不是|错了|不,|不,|其实|应该是|我说过)[\s,。!:;,!:;]*"),
    remember=pattern(r"(?:请)?(?:记住|记得|请记下|不要忘记|别忘了)[::,,\s]*"),
    question=pattern(
        r"[吗呢么][?？]?$",
        r"^(?:什么|怎么|为什么|哪|谁|是否|能不能|可不可以|可以.*吗|如何|多少)",
        r"(?:什么|怎么样|哪个|哪里)",
    ),
    hypothetical=pattern(r"(?:如果我|假设|假如|也许|可能|或许|要是|比如说|大概|在考虑)"),
    once=pattern(r"(?:这次|今天|暂时|目前|现在先|这一次|仅此一次|先这样|明天)"),
    others=pattern(
        r"(?:文档|日志|报错|他|她|同事|老板|客户|网页|文章|你|有人).{0,4}(?:说|写|建议|认为|喜欢|推荐|要求)|据说|听说"
    ),
    denied=pattern(r"(?:无所谓|不需要总是|不必|没决定|还没决定|没说过|随便|算了|都可以|不一定)"),
    deictic=pattern(r"(?:这个|那个|这段|这些|那些|第一个|第二个|上面|下面|这里的)"),
    decision=pattern(r"(?:我们|我)(?:已经)?(?:决定|选定|选择了|商定|改用|换成)"),
    profile=pattern(
        r"我(?:现在)?(?:住在|来自|在.{1,12}工作|是.{0,12}(?:工程师|开发者|学生|老师|设计师|程序员)|会说|叫)|我的(?:名字|时区|母语|编辑器|职业"
        r"|公司)是"
    ),
    preference=pattern(
        r"我(?:更|比较|不|一直|总是|从不|从来不)?(?:喜欢|偏好|讨厌|倾向于?|习惯)|我(?:总是|一直|从不|从来不)(?:用|使用|写)"
    ),
    desire=pattern(r"我(?:想要|希望|需要|要)"),
    generic=pattern(r"(?:每个|每次|所有|总是|永远|一律|都|最多|至少|只|一直|从不)"),
    rule=pattern(
        r"(?:函数|方法|类|测试|提交|标题|简介|引言|回答|回复|注释|变量|文件|代码|段落|摘要|信息|说明).{0,12}(?:必须|应该|不能|不得|不要|不可以|需要"
        r"|最多|不超过|要用|都要|一律)"
    ),
    standing=pattern(r"(?:从现在(?:开始|起)|以后|今后|总是|永远|默认|每次|一律|始终|从今以后)"),
    imperative=pattern(
        r"^(?:[，,、]|都|要|请|在|先)*(?:用|使用|写|保持|运行|避免|不要|别|回答|回复|提交|检查|格式化|测试|加|添加|给)"
    ),
    standing_order=pattern(
        r"(?:提交|推送|合并|发布)(?:代码)?(?:之)?前.{0,6}(?:先|要|请|必须)?(?:运行|跑|检查|执行)",
        r"用.{1,12}(?:而不是|代替|不要用)",
    ),
    corrected=pattern(r"^(?:用|使用|要用|我们用)"),
    fact=pattern(
        r"(?:测试|构建|部署|数据库|包管理器|默认分支).{0,6}(?:用|使用|是|通过|靠)",
        r"^我们(?:用|使用)",
    ),
    status=pattern(r"(?:失败|坏了|通过了|好了|没有跑|很慢|还没)"),
    project=pattern(r"(?:在)?(?:这个|本)(?:项目|仓库|代码库)"),
    everywhere=pattern(r"(?:所有项目|任何地方|到处|一般来说)"),
)
