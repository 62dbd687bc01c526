# ruff: noqa: E501 (data)
"""Stop words by language, as data: articles, pronouns, prepositions, conjunctions, auxiliaries."""

from __future__ import annotations

_WORDS = {
    "en": """a about above after again against all also am an and any are aren't as at be because been before being below
    between both but by can can't cannot could couldn't did didn't do does doesn't doing don't down during each few for
    from further had hadn't has hasn't have haven't having he he'd he'll her here hers herself him himself his how i i'd
    i'll i'm i've if in into is isn't it it'd it'll its itself just let's ll me more most mustn't my myself no nor not
    of off on once only or other ought our ours ourselves out over own re s same shall shan't she she'd she'll should
    shouldn't so some such t than that the their theirs them themselves then there these they they'd they'll they're
    they've this those through to too under until up us ve very was wasn't we we'd we'll we're we've were weren't what
    when where which while who whom why will with won't would wouldn't you you'd you'll you're you've your yours
    yourself yourselves""",
    "de": """aber alle allem allen aller alles als also am an ander andere anderem anderen anderer anderes auch auf aus bei
    bin bis bist da damit dann das dass dein deine dem den denn der des dessen dich die dies diese diesem diesen dieser
    dieses dir doch dort du durch ein eine einem einen einer eines er es etwas euch euer für gegen habe haben hat hatte
    hatten hier hin ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im in ins ist ja jede jedem jeden jeder jedes jener jetzt
    kann kein keine können machen man mein meine mit muss müssen nach nicht nichts noch nun nur ob oder ohne sehr sein
    seine seinem seinen seiner sich sie sind so soll sollte sondern um und uns unser unter vom von vor war waren was weil
    welche welcher wenn werden wie wieder will wir wird wo wollen worden wurde wurden würde zu zum zur zwar zwischen über""",
    "fr": """à ai au aucun aussi autre aux avec avoir c ça ce ceci cela celle celles celui ces cet cette ceux chaque ci comme
    d dans de des donc dont du elle elles en encore entre es est et étaient était être eu eux fait faire il ils j je l la
    le les leur leurs lui m ma mais me même mes moi mon n ne ni nos notre nous on ont ou où par parce pas peu peut plus
    pour pourquoi qu quand que quel quelle quelles quels qui s sa sans se ses si son sont sous sur t ta te tes toi ton tous
    tout toute toutes très tu un une vos votre vous y""",
    "es": """a al algo algunas algunos ante antes como con contra cual cuando cuál de del desde donde dónde durante e el él
    ella ellas ellos en entre era eran es esa esas ese eso esos esta está estaba estamos están estar estas este esto estos
    fue fueron ha había han hasta hay la las le les lo los me mi mis mucho muy más ni no nos nosotros o os otra otros para
    pero poco por porque que qué quien quién se sea según ser si sí sin sobre son su sus también tanto te tiene tienen todo
    todos tu tus un una unas uno unos y ya yo""",
    "it": """a ad agli ai al alla alle allo anche avere c che chi ci cioè come con contro cui d da dagli dai dal dalla dalle
    dei del dell della delle dello di dove e è ed era erano essere fra gli ha hai hanno ho i il in io l la le lei li lo loro
    lui ma mi mia mio ne negli nei nel nella nelle nello noi non nostro o ogni per perché più quale quali quando quella
    quelle quelli quello questa queste questi questo se sei si sia siamo sono sta su sua sue sugli sui sul sulla suo suoi
    tra tu tutti tutto un una uno vi voi""",
    "pt": """a à ao aos as às até com como da das de dela dele deles depois do dos e é ela elas ele eles em entre era eram essa
    esse esta está este eu foi foram há isso isto já lhe mais mas me mesmo meu minha muito na não nas nem no nos nós o os ou
    para pela pelas pelo pelos por porque qual quando que quem se sem ser será seu seus só sua suas são também te tem têm
    todo todos tu um uma você vocês""",
    "nl": """aan al alles als altijd andere ben bij daar dan dat de der deze die dit doch doen door dus een eens en er ge geen
    geweest haar had heb hebben heeft hem het hier hij hoe hun iemand iets ik in is ja je kan kon kunnen maar me meer men met
    mij mijn moet na naar niet niets nog nu of om omdat onder ons ook op over reeds te tegen toch toen tot u uit uw van veel
    voor want waren was wat we werd wezen wie wij wil worden wordt zal ze zei zelf zich zij zijn zo zonder zou""",
    "pl": """a aby albo ale bardzo bez bo by być był była było były co czy czyli dla do gdy gdzie go i ich ile im ja jak jako je
    jednak jego jej jest jestem jeśli już każdy kiedy kto która które którego której który którzy lub ma mają mam mi mnie
    może można my na nad nam nas nie nich nie niż no o od on ona one oni oraz po pod ponieważ przed przez przy są się sobie
    ta tak także tam te tego tej ten też to tu tych tylko tym u w we wszystko z za ze że""",
    "ru": """а без более бы был была были было быть в вам вас весь во вот все всего всех вы где да даже для до его ее если есть
    еще же за здесь и из или им их к как ко когда кто ли либо мне может мы на надо наш не него нее нет ни них но ну о об
    однако он она они оно от очень по под при с со так также такой там те тем то того тоже той только том ты у уже хотя чего
    чей чем что чтобы чье чья эта эти это я""",
    "zh": "的 了 在 是 我 和 就 不 都 一 个 也 很 到 说 要 去 你 会 着 没 看 自 这 那 吗 呢 吧 与 及 或 而 之 其",
    "ja": "の に は を た が で て と し れ さ あ る も な い か ら ま す や よ ね へ り こ う",
    "ko": "은 는 이 가 을 를 에 의 와 과 도 로 으로 에서 그 저 것 수 및 또는",
}

#: ISO 639-1 code → stop words, casefolded.
STOPWORDS: dict[str, frozenset[str]] = {
    language: frozenset(words.casefold().split()) for language, words in _WORDS.items()
}
