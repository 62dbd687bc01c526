# ruff: noqa: E501 (data)
"""The phrases by which answers decline, as data: one table for all languages.

Each language has `declines` (patterns of the refusal itself; the words of an answer that says it does not know or cannot
tell), `meta` (sentences that only surround a refusal: apologies, offers, remarks on what the passages do talk about) and
`joins` (words that join a refusal to an answer within one sentence). Patterns are matched ignoring case, on text whose
apostrophes are straight and whose contractions are as written. They hold no nested repetition.
"""

from __future__ import annotations

_EN_SOURCE = (
    r"(?:(?:the|this|these|those|any|my|your|our|all)\s)?(?:of\s(?:the|these|this)\s)?"
    r"(?:(?:provided|given|retrieved|supplied|available|above|current|following|existing|supporting)\s)?"
    r"(?:search\s|source\s|reference\s|context\s)?"
    r"(?:contexts?|documents?|documentation|passages?|sources?|excerpts?|snippets?|chunks?|materials?|knowledge\sbase|"
    r"search\sresults?|results?|references?)"
)
_EN_MARKED = (
    r"(?:the|this|these|those|your)\s(?:(?:provided|given|retrieved|supplied|available|above)\s"
    r"(?:\w+\s)?(?:texts?|information|articles?|pages?|data|sections?|content|docs)|docs)"
)
#: "the documents I was given", "the context that you provided"
_EN_HANDED = (
    r"(?:that\s|which\s)?(?:i|we|you)(?:\s(?:was|were|am|are|have|had)|'ve)?(?:\sbeen)?\s"
    r"(?:given|shown|provided(?:\swith)?|supplied(?:\swith)?|gave|retrieved|received|found|have|see|can\ssee)"
)
_EN_NOT = r"(?:do(?:es)?\s(?:not|n't)|don't|doesn't|did\snot|didn't)"
_EN_TELL = (
    r"(?:contain|say|mention|provide|include|specify|state|give|have|cover|answer|address|discuss|describe|explain|"
    r"indicate|tell|offer|list|reveal|define|clarify|detail|disclose|make\sclear|appear\sto|seem\sto|directly|explicitly)"
)

#: language → {"declines": patterns, "meta": patterns, "joins": pattern}
PHRASES: dict[str, dict[str, tuple[str, ...]]] = {
    "en": {
        "declines": (
            r"\b(?:i|we)(?:\s(?:am|are|was|were)|'m|'re)\s(?:not\sable|unable|currently\sunable)\sto\s(?:\w+\s){0,2}?"
            r"(?:answer|find|provide|determine|say|tell|see|locate|give|help|assist|confirm|identify|verify|respond|access|offer)\b",
            r"\b(?:i|we)\s(?:cannot|can\snot|can't|could\snot|couldn't|won't\sbe\sable\sto|will\snot\sbe\sable\sto)\s(?:\w+\s){0,2}?"
            r"(?:answer|find|provide|determine|say|tell|see|locate|give|help|assist|confirm|identify|verify|respond|access)\b",
            r"\b(?:i|we)\s(?:do\snot|don't|did\snot|didn't)\s(?:\w+\s)?(?:know|see\s(?:any|this|that|it)|find\b)",
            r"\b(?:i|we)\s(?:do\snot|don't)\s(?:\w+\s)?have\s(?:\w+\s){0,3}?"
            r"(?:information|context|data|access|details?|knowledge|answer|documentation|evidence)\b",
            r"\b(?:i|we)\shave\s(?:no|insufficient)\s(?:\w+\s){0,2}?(?:information|context|data|details?|knowledge|answer|idea)\b",
            r"\b(?:i'm|i\sam|we're|we\sare)\snot\s(?:\w+\s)?(?:sure|certain|aware)\b",
            rf"\b{_EN_SOURCE}\s(?:{_EN_HANDED}\s)?(?:\w+\s)?{_EN_NOT}\s(?:\w+\s)?{_EN_TELL}\b",
            rf"\b{_EN_MARKED}\s(?:\w+\s)?{_EN_NOT}\s(?:\w+\s)?{_EN_TELL}\b",
            rf"\bnone\sof\s{_EN_SOURCE}\s(?:contains?|mentions?|provides?|answers?|address(?:es)?|specif(?:y|ies)|says?|states?)\b",
            rf"\b{_EN_SOURCE}\s(?:contains?|has|have|provides?|gives?|offers?|makes?)\sno\s(?:\w+\s){{0,2}}?"
            r"(?:information|answer|details?|mention|data|reference|indication)\b",
            r"\b(?:there\s(?:is|are|was|were)|there's|i\sfound|we\sfound|found)\s(?:no|not\senough|insufficient|not\sany)\s"
            r"(?:\w+\s){0,3}?(?:information|mention|details?|answer|evidence)\b",
            r"\b(?:there\s(?:isn't|is\snot|wasn't|was\snot))\s(?:enough|any|sufficient)\s(?:\w+\s){0,2}?(?:information|context|detail|data|mention)\b",
            rf"\b(?:is|are|was|were)?\s?(?:not|n't)\s(?:\w+\s)?(?:specified|mentioned|stated|provided|covered|given|available|found|"
            rf"discussed|included|documented|described|addressed|answered|explained|clear)\s(?:in|by|from)\s(?:any\sof\s)?(?:{_EN_SOURCE}|{_EN_MARKED})\b",
            rf"\b(?:cannot|can't|can\snot|could\snot|couldn't)\sbe\s(?:\w+\s)?(?:answered|determined|found|inferred|derived|confirmed)\s"
            rf"(?:\w+\s)?(?:from|based\son|using|with|in|by)\s(?:{_EN_SOURCE}|{_EN_MARKED})\b",
            r"^\W*(?:(?:sorry|unfortunately|apologies)\W+)?(?:but\s)?(?:unable|not\sable)\sto\s(?:answer|find|determine|provide|locate)\b",
            r"^\W*(?:(?:sorry|unfortunately)\W+)?no\s(?:relevant\s|matching\s|such\s|useful\s|sufficient\s|enough\s)?"
            r"(?:information|answers?|results?|documents?|context|passages?|data|mention)\b(?=[^.]{0,60}(?:found|available|given|provided|match|about|regarding)|\W*$)",
            r"\b(?:insufficient|not\senough|not\ssufficient)\s(?:information|context|data|evidence|detail)\b(?=[^.]{0,40}(?:\bto\b|provided|available|given|$))",
            r"\b(?:the\s)?(?:question|query)\s(?:cannot|can't|can\snot)\sbe\sanswered\b",
            r"\b(?:is|are|falls?)\s(?:outside|beyond)\s(?:of\s)?(?:the\sscope\sof\s)?(?:my|our|the\s(?:provided|given))\s"
            r"(?:knowledge|scope|expertise|information|documentation|documents|context)\b",
            r"^\W*(?:i\s)?(?:have\s)?no\sidea\b",
            r"^\W*(?:n/a|unknown|unanswerable|no\sanswer|none\sfound|not\s(?:found|available|specified|mentioned|stated|provided|known)|"
            r"don't\sknow|dunno|cannot\sanswer|can't\sanswer|not\sanswerable)\W*$",
        ),
        "meta": (
            r"^\W*(?:i\s?(?:'m|am)\s)?(?:(?:very\s|so\s)?sorry|afraid|apologi[sz]e|i\sapologi[sz]e|my\sapologies|unfortunately)\b(?=[^.]{0,60}$)",
            r"^\W*(?:please\s|(?:if|should)\syou\s|let\sme\sknow|feel\sfree|would\syou\slike|you\s(?:may|might|could|can|should)\s"
            r"(?:want\sto\s|wish\sto\s|need\sto\s|try\sto\s)?(?:check|consult|contact|ask|refer|try|look|search|visit|reach|rephrase|provide))",
            r"^\W*(?:i\s(?:would\s)?(?:recommend|suggest|advise)|i'd\s(?:recommend|suggest|advise)|for\s(?:more|further|additional)\s|"
            r"(?:more|further|additional)\s(?:information|context|details?)\s(?:is|are|would)|to\sanswer\s(?:this|your))",
            rf"^\W*(?:however,?\s|instead,?\s|it\s|they\s)?(?:{_EN_SOURCE}|{_EN_MARKED}|it|they)\s(?:only|just|mainly|mostly|instead|rather|primarily)\b",
            rf"^\W*(?:however,?\s|instead,?\s)?(?:{_EN_SOURCE}|{_EN_MARKED})\s(?:(?:provided|given)\s)?(?:only\s)?(?:discuss|focus|talk|mention|describe|cover|concern|relate|are\sabout|is\sabout)",
            r"^\W*(?:is\sthere\sanything|can\syou|could\syou|do\syou|how\s(?:else\s)?can\si)\b",
            r"^\W*(?:as\san\sai|based\son\s(?:the|my)|thank)\b(?=[^.]{0,80}$)",
            r"^\W*(?:hello|hi|hey|thanks?|good\squestion|great\squestion)\b",
        ),
        "joins": (r"[,;:—–]?\s(?:but|however|although|though|while|whereas|yet|and)\b", r";"),
    },
    "de": {
        "declines": (
            r"\b(?:das\s)?(?:weiß|weiss)\sich\s(?:leider\s)?nicht\b|\bich\s(?:weiß|weiss)\s(?:es\s|das\s|leider\s){0,2}nicht\b",
            r"\b(?:ich|wir)\s(?:kann|können|konnte|konnten)\s(?:\w+\s){0,6}?(?:nicht|keine?n?)\s(?:\w+\s){0,5}?(?:beantworten|finden|sagen|geben|bestimmen|ermitteln|helfen)\b",
            r"\b(?:kann|können|konnte)\s(?:ich|wir)\s(?:\w+\s){0,5}?(?:nicht|keine?n?)\s(?:\w+\s){0,5}?(?:beantworten|finden|sagen|geben|bestimmen|ermitteln)\b",
            r"\b(?:ich|wir)\s(?:habe|haben)\s(?:leider\s|dazu\s|darüber\s){0,3}(?:keine|nicht\sgenügend|zu\swenig)\s(?:\w+\s){0,2}?(?:informationen|angaben|daten|kenntnis\w*)\b",
            r"\b(?:kontext|dokument\w*|dokumentation|textstellen?|passagen?|quellen?|unterlagen)\s(?:\w+\s){0,4}?(?:nicht|keine?n?|nichts)\b(?=[^.]{0,80}(?:\.|$))",
            r"\b(?:nicht|keine\s(?:informationen|angaben|hinweise))\s(?:\w+\s){0,4}?(?:im|in\s(?:den|der|dem|diesen?)|aus\s(?:dem|den|der))\s(?:\w+\s){0,2}?(?:kontext|dokument\w*|dokumentation|textstellen?|passagen?|quellen?|unterlagen)\b",
            r"\b(?:es\s(?:gibt|liegen)|liegen)\s(?:\w+\s){0,3}?keine\s(?:\w+\s){0,2}?(?:informationen|angaben)\b",
            r"\b(?:geht|gehen|lässt\ssich)\s(?:\w+\s){0,6}?nicht\s(?:\w+\s){0,3}?(?:hervor|entnehmen|beantworten)\b",
            r"^\W*(?:unbekannt|keine\s(?:angaben?|antwort|informationen)|nicht\s(?:bekannt|angegeben|beantwortbar))\W*$",
        ),
        "meta": (
            r"^\W*(?:es\stut\smir\sleid|entschuldigung|leider|bitte|wenn\ssie|falls\ssie|sie\skönnen|gerne|ich\sempfehle)\b",
            r"^\W*(?:der\skontext|die\sdokumente?|die\squellen|die\spassagen|sie)\s(?:\w+\s){0,2}(?:nur|lediglich)\b",
        ),
        "joins": (r",?\s(?:aber|jedoch|allerdings|obwohl|während)\b", r";"),
    },
    "fr": {
        "declines": (
            r"\bje\s(?:ne\s)?(?:le\s|la\s)?sais\spas\b|\bje\sl'ignore\b",
            r"\b(?:je\sne|nous\sne|je\sn'|nous\sn')\s?(?:peux|pouvons|puis|parviens|suis|ai|avons|trouve|trouvons|dispose|disposons)\s(?:\w+\s){0,2}?(?:pas|aucune?)\b(?=[^.]{0,80}(?:répondre|trouv|dire|déterminer|information|en\smesure|réponse|aider|donnée))",
            r"\b(?:contexte|documents?|documentation|passages?|sources?|textes?\sfournis?|extraits?)\s(?:\w+\s){0,2}?(?:ne|n')\s?(?:\w+\s){0,2}?(?:pas|aucune?|rien)\b",
            r"\b(?:aucune?)\s(?:\w+\s)?(?:information|réponse|mention)\s(?:\w+\s){0,3}?(?:n'|ne|disponible|trouvée?)",
            r"\bil\sn'y\sa\s(?:pas\s(?:assez\s)?d'|aucune\s)information",
            r"\b(?:n'est|ne\ssont)\spas\s(?:mentionnée?s?|précisée?s?|indiquée?s?|spécifiée?s?|fournie?s?)\s(?:dans|par)\s(?:le|les|la)\s(?:contexte|documents?|documentation|passages?|sources?)",
            r"^\W*(?:inconnu|aucune\s(?:réponse|information)|non\s(?:précisé|mentionné|disponible))\W*$",
        ),
        "meta": (
            r"^\W*(?:je\ssuis\s)?(?:désolée?|malheureusement|veuillez|n'hésitez|si\svous|vous\spouvez|je\svous\s(?:recommande|suggère|invite))\b",
            r"^\W*(?:le\scontexte|les\s(?:documents|passages|sources)|il|ils)\s(?:\w+\s){0,2}(?:seulement|uniquement)\b",
        ),
        "joins": (r",?\s(?:mais|cependant|toutefois|bien\sque|tandis\sque)\b", r";"),
    },
    "es": {
        "declines": (
            r"\b(?:no\slo\ssé|yo\sno\ssé|no\ssé\s(?:la\srespuesta|cuál|cómo|qué|si))\b|^\W*no\ssé\W*$",
            r"\bno\s(?:puedo|podemos|pude|pudimos|he\spodido|hemos\spodido|soy\scapaz\sde|estoy\sen\scondiciones\sde)\s(?:\w+\s)?(?:responder|contestar|encontrar|determinar|proporcionar|decir|ayudar|confirmar)",
            r"\bno\s(?:encuentro|encontré|encontramos|tengo|tenemos|dispongo|disponemos|cuento)\s(?:\w+\s){0,3}?(?:información|respuesta|datos|contexto)\b",
            r"\b(?:contexto|documentos?|documentación|pasajes?|fuentes?|textos?\sproporcionados?|fragmentos?)\s(?:\w+\s){0,2}?no\s(?:\w+\s)?(?:contienen?|mencionan?|proporcionan?|incluyen?|especifican?|indican?|dicen?|ofrecen?|responden?)\b",
            r"\bno\s(?:hay|existe|se\sencontró|se\sencuentra)\s(?:\w+\s){0,3}?(?:información|respuesta|datos)\b",
            r"\bno\s(?:se|está|es|aparece)\s(?:\w+\s)?(?:menciona\w*|especifica\w*|indica\w*|en)\s(?:\w+\s){0,2}?(?:contexto|documentos?|documentación|pasajes?|fuentes?)\b",
            r"^\W*(?:desconocido|sin\s(?:respuesta|información)|no\s(?:especificado|mencionado|disponible))\W*$",
        ),
        "meta": (
            r"^\W*(?:lo\ssiento|lamentablemente|desafortunadamente|por\sfavor|si\s(?:usted|me|desea|necesita|puede)|puede\s(?:consultar|contactar)|le\s(?:recomiendo|sugiero)|disculp)",
            r"^\W*(?:el\scontexto|los\s(?:documentos|pasajes)|las\sfuentes)\s(?:\w+\s)?(?:solo|sólo|solamente|únicamente)\b",
        ),
        "joins": (r",?\s(?:pero|sin\sembargo|aunque|mientras\sque)\b", r";"),
    },
    "it": {
        "declines": (
            r"\bnon\slo\sso\b|^\W*non\sso\W*$|\bnon\sso\s(?:la\srisposta|quale|come|cosa|se)\b",
            r"\bnon\s(?:posso|possiamo|riesco\sa|sono\sin\sgrado\sdi|ho\spotuto|siamo\sin\sgrado\sdi)\s(?:\w+\s)?(?:rispondere|trovare|determinare|fornire|dire|aiutare|confermare)",
            r"\bnon\s(?:ho|abbiamo|trovo|dispongo\sdi|ho\strovato)\s(?:\w+\s){0,3}?(?:informazioni|risposta|dati|contesto)\b",
            r"\b(?:contesto|documenti?|documentazione|passaggi|fonti|testi\sforniti)\s(?:\w+\s){0,2}?non\s(?:\w+\s)?(?:cont\w+|menzion\w+|forni\w+|inclu\w+|specific\w+|indica\w*|dic\w+|riporta\w*)\b",
            r"\bnon\s(?:ci\ssono|c'è|sono\sdisponibili)\s(?:\w+\s){0,2}?(?:informazioni|risposta)\b",
            r"\bnon\s(?:è|sono|viene|vengono)\s(?:menzionat\w|specificat\w|indicat\w|riportat\w|present\w)\s(?:nel|nei|nella|nelle|dal|dai)\s(?:\w+\s)?(?:contesto|documenti?|documentazione|passaggi|fonti)\b",
            r"^\W*(?:sconosciuto|nessuna\s(?:risposta|informazione)|non\s(?:specificato|disponibile))\W*$",
        ),
        "meta": (
            r"^\W*(?:mi\sdispiace|purtroppo|per\sfavore|se\s(?:vuoi|desidera|hai|puoi)|puoi\s(?:consultare|contattare)|ti\s(?:consiglio|suggerisco))",
            r"^\W*(?:il\scontesto|i\s(?:documenti|passaggi)|le\sfonti)\s(?:\w+\s)?(?:solo|soltanto|solamente)\b",
        ),
        "joins": (r",?\s(?:ma|però|tuttavia|anche\sse|mentre)\b", r";"),
    },
    "pt": {
        "declines": (
            r"\b(?:eu\s)?não\ssei\b(?!\scomo\so)",
            r"\bnão\s(?:posso|podemos|consigo|consegui|conseguimos|sou\scapaz\sde)\s(?:\w+\s)?(?:responder|encontrar|determinar|fornecer|dizer|ajudar|confirmar)",
            r"\bnão\s(?:encontrei|encontramos|tenho|temos|disponho|há|existem?)\s(?:\w+\s){0,3}?(?:informaç\w+|resposta|dados|contexto)\b",
            r"\b(?:contexto|documentos?|documentação|trechos?|passagens|fontes?|textos?\sfornecidos?)\s(?:\w+\s){0,2}?não\s(?:\w+\s)?(?:cont\w+|menciona\w*|fornece\w*|inclu\w+|especifica\w*|indica\w*|diz\w*|responde\w*)\b",
            r"\bnão\s(?:é|está|são|foi)\s(?:mencionad\w|especificad\w|indicad\w|informad\w)\s(?:no|nos|na|nas|pelo)\s(?:\w+\s)?(?:contexto|documentos?|documentação|trechos?|fontes?)\b",
            r"^\W*(?:desconhecido|sem\s(?:resposta|informaç\w+)|não\s(?:especificado|disponível|informado))\W*$",
        ),
        "meta": (
            r"^\W*(?:desculp|infelizmente|lamento|sinto\smuito|por\sfavor|se\svocê|você\spode|recomendo|sugiro)",
            r"^\W*(?:o\scontexto|os\s(?:documentos|trechos)|as\sfontes)\s(?:\w+\s)?(?:apenas|somente|só)\b",
        ),
        "joins": (r",?\s(?:mas|porém|no\sentanto|embora|enquanto)\b", r";"),
    },
    "nl": {
        "declines": (
            r"\b(?:dat\s)?weet\sik\s(?:helaas\s)?niet\b|\bik\sweet\s(?:het\s|dat\s|helaas\s){0,2}niet\b",
            r"\b(?:ik|we|wij)\s(?:kan|kon|kunnen|konden)\s(?:\w+\s){0,6}?(?:niet|geen)\s(?:\w+\s){0,5}?(?:beantwoorden|vinden|zeggen|geven|bepalen|helpen|antwoorden)\b",
            r"\b(?:ik|we|wij)\s(?:heb|hebben|beschik|beschikken)\s(?:\w+\s){0,3}?(?:geen|onvoldoende|niet\sgenoeg)\s(?:\w+\s)?(?:informatie|gegevens|context|antwoord)\b",
            r"\b(?:context|documenten|document|documentatie|passages?|bronnen|bron|tekst)\s(?:\w+\s){0,2}?(?:bevat\w*|vermeld\w*|geeft|geven|zeg\w*|noem\w*|biedt|bieden)\s(?:\w+\s){0,3}?(?:niet|geen|niets)\b",
            r"\b(?:er\sis|er\szijn|is\ser|zijn\ser)\s(?:\w+\s)?(?:geen|onvoldoende)\s(?:\w+\s)?(?:informatie|gegevens|antwoord)\b",
            r"\b(?:niet|geen\sinformatie)\s(?:\w+\s){0,3}?(?:in|uit)\s(?:de|het)\s(?:\w+\s)?(?:context|documenten|document|documentatie|passages?|bronnen)\b",
            r"^\W*(?:onbekend|geen\s(?:antwoord|informatie)|niet\s(?:vermeld|beschikbaar|bekend))\W*$",
        ),
        "meta": (r"^\W*(?:het\sspijt\smij|sorry|helaas|neem\scontact|als\su|als\sje|u\skunt|je\skunt|raadpleeg|ik\sraad)\b",),
        "joins": (r",?\s(?:maar|echter|hoewel|terwijl)\b", r";"),
    },
    "pl": {
        "declines": (
            r"\bnie\s(?:wiem|wiemy)\b",
            r"\bnie\s(?:mogę|możemy|mogłem|mogłam|jestem\sw\sstanie|jesteśmy\sw\sstanie|potrafię|udało\s(?:mi\s)?się)\s(?:\w+\s){0,3}?(?:odpowiedzieć|znaleźć|określić|podać|stwierdzić|pomóc|udzielić)",
            r"\bnie\s(?:mam|mamy|znalazłem|znalazłam|znaleziono|znajduję|posiadam)\s(?:\w+\s){0,3}?(?:informacji|odpowiedzi|danych|kontekstu)",
            r"\b(?:kontekst|kontekście|dokument\w*|dokumentacj\w+|fragment\w*|źród\w+|tekst\w*)\s(?:\w+\s){0,2}?nie\s(?:\w+\s)?(?:zawiera\w*|wspomina\w*|podaj\w*|określa\w*|ma|mówi\w*|odpowiada\w*)",
            r"\b(?:brak|nie\sma)\s(?:\w+\s){0,2}?(?:informacji|odpowiedzi|danych)\b",
            r"\bnie\s(?:jest|są|został\w*)\s(?:\w+\s)?(?:podan\w+|wspomnian\w+|określon\w+)\sw\s(?:\w+\s)?(?:kontekście|dokument\w+|źród\w+)",
            r"^\W*(?:nieznan[eya]|brak\sodpowiedzi)\W*$",
        ),
        "meta": (r"^\W*(?:przepraszam|przykro\smi|niestety|proszę|jeśli|jeżeli|możesz|zalecam|sugeruję)\b",),
        "joins": (r",?\s(?:ale|jednak|chociaż|natomiast)\b", r";"),
    },
    "ru": {
        "declines": (
            r"\b(?:я\s|мы\s)?не\s(?:знаю|знаем)\b",
            r"\b(?:я\s|мы\s)?не\s(?:могу|можем|смог|смогла|удалось|в\sсостоянии)\s(?:\w+\s){0,3}?(?:ответить|найти|определить|предоставить|сказать|помочь|дать)",
            r"\b(?:у\sменя|у\sнас)\s(?:\w+\s)?(?:нет|недостаточно)\s(?:\w+\s){0,3}?(?:информации|данных|ответа|контекста)",
            r"\b(?:контекст\w*|документ\w*|источник\w*|отрыв\w*|текст\w*|фрагмент\w*)\s(?:\w+\s){0,2}?не\s(?:\w+\s)?(?:содерж\w+|упомина\w+|указ\w+|говор\w+|да[её]т|дают|предоставля\w+|сказано|отвеча\w+)",
            r"\b(?:нет|отсутствует|недостаточно|не\sнайдено)\s(?:\w+\s){0,2}?(?:информаци\w+|данных|ответа)\b",
            r"\bне\s(?:указан\w*|упомянут\w*|упомина\w+|сказано)\sв\s(?:\w+\s)?(?:контексте|документ\w+|источник\w+|тексте)",
            r"^\W*(?:неизвестно|нет\s(?:ответа|данных|информации)|не\sуказано)\W*$",
        ),
        "meta": (r"^\W*(?:извините|к\sсожалению|простите|сожалею|пожалуйста|если\sвы|вы\sможете|рекомендую|обратитесь)",),
        "joins": (r",?\s(?:но|однако|хотя|тогда\sкак)\b", r";"),
    },
    "zh": {
        "declines": (
            r"我(?:们)?(?:也|并|真的|目前|暂时)?不(?:知道|清楚|确定|了解)",
            r"(?:我(?:们)?)?(?:无法|不能|没有?办法)(?:根据[^。]{0,20})?(?:回答|找到|确定|提供|判断|得知|得出|给出|确认)",
            r"(?:上下文|文档|文件|资料|段落|文本|来源|文章|材料|内容|信息)(?:中|里|内)?(?:并|都|均)?(?:没有|未|无)(?:明确)?(?:提供|提到|提及|包含|说明|给出|涉及|找到|相关|任何|关于)",
            r"(?:没有|未能?|找不到|缺乏)(?:找到|足够的?|任何|相关的?|提供)*[^。]{0,10}(?:信息|资料|答案|内容|上下文)",
            r"信息不足|資料不足|资料不足",
            r"^\W*(?:未知|不知道|不清楚|无答案|无法回答)\W*$",
        ),
        "meta": (r"^\W*(?:抱歉|对不起|很遗憾|请(?:您|你)?|如果(?:您|你)|建议|您可以|你可以|非常抱歉)",),
        "joins": (r"[，；,;]?(?:但是?|不过|然而|虽然)", r"[；;]"),
    },
    "ja": {
        "declines": (
            r"(?:わかりません|分かりません|存じません|判りません|わかりかねます|分かりかねます|知りません)",
            r"(?:お答え|回答|答える|答え|特定|判断|確認|提供|見つける)[^。]{0,8}(?:できません|できかねます|ことができません|いたしかねます|不可能です)",
            r"(?:文脈|コンテキスト|文書|ドキュメント|資料|情報源|テキスト|提供された情報|ソース|記事)[^。]{0,20}(?:ありません|記載されていません|含まれていません|見つかりません|書かれていません|言及されていません|述べられていません|記載がありません)",
            r"(?:情報|答え|回答|記載|データ)[^。]{0,12}(?:見つかりません|ありません|不足して|見当たりません|足りません)",
            r"^\W*(?:不明|不明です|情報なし|回答なし)\W*$",
        ),
        "meta": (r"^\W*(?:申し訳|すみません|恐れ入りますが|残念ながら|もし|詳細|詳しくは|お手数)",),
        "joins": (r"(?:ですが|ますが|しかし|ただし|けれども)、?",),
    },
    "ko": {
        "declines": (
            r"(?:모르겠습니다|모릅니다|모르겠어요|알\s?수\s?없습니다|알지\s못합니다|알\s?수가\s?없습니다)",
            r"(?:답변|대답|답|확인|제공|판단|찾을)[^.。]{0,8}(?:할\s?수\s?없습니다|드릴\s?수\s?없습니다|수\s?없습니다|수\s?없었습니다|불가능합니다|못했습니다)",
            r"(?:문맥|컨텍스트|문서|자료|출처|텍스트|제공된\s?정보|지문)[^.。]{0,30}(?:없습니다|않습니다|나와\s?있지\s?않|포함되어\s?있지\s?않|언급되지\s?않)",
            r"(?:정보|답|답변|내용|자료)(?:가|이|를|을)?\s?(?:충분하지\s?않|부족|없습니다|찾을\s?수)",
            r"^\W*(?:알\s?수\s?없음|모름|정보\s?없음|답변\s?불가)\W*$",
        ),
        "meta": (r"^\W*(?:죄송|안타깝게도|유감|만약|추가\s?정보|문의|참고)",),
        "joins": (r"(?:지만|그러나|하지만|그런데),?",),
    },
}  # fmt: skip
