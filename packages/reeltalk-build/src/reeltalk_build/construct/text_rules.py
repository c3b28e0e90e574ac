"""Faults of a single text that a model wrote: a question, an answer, a caption, an item of a checklist.

A rule reads the text alone, so it applies to everything that a writer gives. Rules read words and characters, not
meaning: whether a text is true is for a judge. Bounds are chosen so that careful people's texts pass. For example, of
the 9,048 texts of VDAct's human dialogues (test split) grave rules flag 1 and all rules 40.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from pydantic import BaseModel, ConfigDict

from reeltalk.errors import shorten
from reeltalk.schema.settings import Count, Share
from reeltalk.schema.texts import code_point
from reeltalk_build.construct.writers import Language

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

Part = Literal[
    "question", "remark", "answer", "refusal", "summary", "caption", "object caption", "checklist item"
]  # fmt: skip
"""What a text is. `remark`: what a user says without asking. `refusal`: an answer that must decline. `summary`: an
answer that sums up a conversation."""
_SAID_BY_USER: Final = ("question", "remark")

_HAN: Final = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]")
_LATIN_WORD: Final = re.compile(r"[a-zA-Z\u00c0-\u024f]+(?:['’][a-z]+)?")
_WORD: Final = re.compile(r"[^\W_]+(?:['’][a-z]+)?")


def _any(*patterns: str) -> str:
    return "|".join(patterns)


_QUOTED: Final = re.compile(r"\"[^\"]*\"|“[^”]*”|「[^」]*」|『[^』]*』|《[^》]*》|‘[^’]*’")


class TextSettings(BaseModel):
    """Bounds of the rules for single texts."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    min_question_words: Count = 2
    """Shortest question in English words."""
    max_question_words: Count = 40
    """Longest question in English words."""
    max_answer_words: Count = 120
    """Longest answer in English words; a summary of a dialogue is the longest there is."""
    min_summary_words: Count = 8
    """Shortest summary in English words."""
    min_caption_words: Count = 3
    """Shortest caption of a clip in English words."""
    max_caption_words: Count = 200
    """Longest caption in English words."""
    min_question_characters: Count = 4
    """Shortest question in Chinese characters."""
    max_question_characters: Count = 70
    """Longest question in Chinese characters."""
    max_answer_characters: Count = 240
    """Longest answer in Chinese characters."""
    min_summary_characters: Count = 12
    """Shortest summary in Chinese characters."""
    min_caption_characters: Count = 4
    """Shortest caption of a clip in Chinese characters."""
    max_caption_characters: Count = 400
    """Longest caption in Chinese characters."""
    max_chinese_in_english: Share = 0.3
    """Largest share of Chinese in English text. A Chinese character counts as half a word."""
    min_chinese_in_chinese: Share = 0.3
    """Least share of Chinese in Chinese text; names may be in Latin letters."""
    max_other_script: Share = 0.3
    """Largest share of letters that are neither Latin nor Chinese."""
    min_words_for_language: Count = 3
    """Fewest words of which a language in Latin letters is recognised."""
    min_language_probability: Share = 0.7
    """Least probability at which a language is taken for recognised."""


Said = Iterator[str]
"""What is wrong with a text, to be read after the words *the question* or *the caption*."""


def _characters(text: str, _: Part, __: Language, ___: TextSettings) -> Said:
    for at, character in enumerate(text):
        if character.isascii():
            if (character < " " and character not in "\t\n\r") or character == "\x7f":
                yield f"holds the control character {code_point(character)}"
                return
            continue
        kind = unicodedata.category(character)
        if character in _JOINERS:
            # Joiners make one sign of two emoji or of two letters; between ASCII they are only invisible.
            if at and not text[at - 1].isascii():
                continue
        elif kind not in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp") and character not in _BLANK:
            continue
        elif "\U000e0020" <= character <= "\U000e007f" and "\U0001f3f4" in text[:at]:
            continue
        yield f"holds {code_point(character)}, which cannot be seen or does not belong in a text"
        return


_JOINERS: Final = "\u200c\u200d\ufe0e\ufe0f"
_BLANK: Final = "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\ufffc\ufffd"
"""Characters without ink that are no white space, and the marks of a character or an object that was lost."""

_TAGS: Final = (
    "a abbr b blockquote body br button code div em embed font form h1 h2 h3 h4 h5 h6 head hr html i iframe img input "
    "li link meta object ol option p pre script section select small span strike strong style sub sup svg table tbody "
    "td textarea th thead title tr u ul video audio source answer question caption think thinking reasoning result "
    "output response image frame bos eos pad unk s"
).replace(" ", "|")
_MARKUP: Final = re.compile(
    _any(
        rf"</?(?:{_TAGS})(?:\s[^<>]*)?/?>",
        r"<!--",
        r"-->",
        r"<!doctype",
        r"<script",
        r"javascript:",
        r"<\|[^|>]*\|?>",
        r"\[/?INST\]",
        r"&(?:nbsp|lt|gt|amp|quot|apos|#\d+|#x[0-9a-f]+);",
        # Markdown: fences, headings, bold text, links, table rows, code, list items.
        r"```",
        r"~~~",
        r"^\s{0,3}#{1,6}\s+\S",
        r"\*\*[^*\n]+\*\*",
        r"(?<![\w*])\*\s?[a-z\u4e00-\u9fff][^*\n]*\*(?![\w*])",
        r"__[^_\n]+__",
        r"\]\(\s*\S+\s*\)",
        r"^\s*\|.*\|\s*$",
        r"`[^`\n]+`",
        r"^\s*[-*•]\s+\S.*\n\s*[-*•]\s+\S",
        # Remains of JSON and of escapes.
        r"[{\[]\s*[\"“']\w+[\"”']\s*[:,]",
        r"[\"”']\s*[}\]]\s*[,}\]]?\s*$",
        r"^\s*[{\[].*[}\]]\s*$",
        r"[\"']\s*,\s*[\"']\w+[\"']\s*:",
        r"\\[nrt](?![a-z])",
        r"\\u[0-9a-f]{4}",
        r"\\[\"']",
        r"</?\w+>\s*$",
        r"^\s*</?\w+>",
        # The label of a field, or of a speaker.
        r"(?:^\s*|[(（]\s*|[.!?]\s+)(?-i:Note|NOTE|Disclaimer|Explanation|Reasoning|Rationale)\s*[:：]",
        r"^\s*(?:question|answer|caption|summary|description|response|output|user|assistant|human|ai|bot|system|q"
        r"|a)\s*(?:no\.?\s*)?\d*\s*[:：]\s*\S",
        r"^\s*(?:问题|回答|答案|描述|说明|总结|字幕|用户|助手|问|答)\s*[0-9一二三四五六]*\s*[:：]\s*\S",
    ),
    re.IGNORECASE | re.MULTILINE,
)
_PLACEHOLDER: Final = re.compile(
    _any(
        r"\{\{?\s*[a-z_][\w .-]*\s*\}?\}",
        r"\$\{\w*\}",
        r"%\(\w+\)s",
        r"(?<![\w%])%[sd]\b",
        r"<[A-Z][A-Z_ ]{2,}>",
        r"\[\s*(?-i:[A-Z][A-Z _]{2,})\s*\]",
        r"\[\s*(?:insert|your|name|object|person|place|action|answer|question|caption|description|blank"
        r"|placeholder|the (?:name|object|person)|add|fill)\b[^\]]*\]",
        r"[(（]\s*(?:insert|fill in|待)[^)）]*[)）]",
        r"(?<!\w)\$(?-i:[A-Z]{3,})\b",
        r"_{3,}",
        r"\b(?-i:TODO|FIXME|TBD|XXX|PLACEHOLDER)\b",
        r"\blorem ipsum\b",
        r"\bfoo ?bar\b",
        r"\b(?:your|the|a) (?:question|answer|caption)(?: text)? here\b",
        r"【[^】]*(?:填|待|占位|名称|问题|答案|物体|物品|人物|地点)[^】]*】",
        r"待(?:补充|填写|完善)",
        r"此处填写",
        r"占位符",
        r"\[\s*(?:姓名|名称|物体|物品|人物|地点|问题|答案|插入)[^\]]*\]",
    ),
    re.IGNORECASE,
)
_NOTHING_SAID: Final = re.compile(
    _any(
        r"[\s.…。·•?？!！*_\-–—~'\"“”()\[\]{}<>/|\\]*(?:(?:string|null|none|nil|undefined|nan|n/a|text|str"
        r"|same as above|see above|(?:your |the )?(?:question|answer|caption|summary|description)\s*\d*(?: here)?"
        r"|to be (?:filled in|added|completed|written)"
        r"|同上|略|无|空|如上|见上)[\s.。!]*)?",
    ),
    re.IGNORECASE,
)


def _markup(text: str, _: Part, __: Language, ___: TextSettings) -> Said:
    if match := _MARKUP.search(text):
        yield f"holds markup or the remains of a form: {shorten(match[0].strip())}"


def _placeholder(text: str, part: Part, _: Language, __: TextSettings) -> Said:
    if match := _PLACEHOLDER.search(text):
        yield f"holds a blank that was not filled in: {shorten(match[0])}"
    # "None." and "无。" answer a question for a number.
    elif _NOTHING_SAID.fullmatch(text) and not (part == "answer" and text.strip(" .。").casefold() in ("none", "无")):
        yield f"says nothing: {shorten(text)}"


_MEDIUM: Final = (
    r"(?:videos?|clips?|footage|frames?|images?|pictures?|photos?|screenshots?|media|visuals?|attachments?)"
)
_MATERIAL: Final = (
    rf"(?:{_MEDIUM}|detections?|captions?|descriptions?|contexts?|information|transcripts?|inputs?|materials?|data)"
)
_GIVEN: Final = (
    r"(?:detections?|frames?|images?|pictures?|screenshots?|captions?|descriptions?|transcripts?|context|metadata)"
)
_SPEAKS_OF_ITSELF: Final = re.compile(
    _any(
        r"\bas an? (?:\w+[- ]){0,2}?(?:AI|artificial intelligence|(?:language|vision|text"
        r"|multimodal)[- ]?(?:based )?model|virtual assistant|chatbot|LLM)\b",
        r"\bI(?:'m| am|’m) (?:just |only |merely )?(?:an? )?(?:\w+[- ]){0,2}?(?:AI|language model|chatbot|LLM"
        r"|virtual assistant|text-based|ChatGPT|GPT-?\d|Qwen|Gemini|Claude|Llama)\b",
        r"\b(?:developed|trained|created) by (?:OpenAI|Alibaba|Google|Anthropic|Meta AI|DeepMind|Microsoft)\b",
        r"\bmy (?:training(?: data)?|knowledge cut-?off|programming|instructions|system prompt|guidelines"
        r"|capabilities)\b",
        r"\bI\s*(?:can(?:no|['’])t|can not|could(?: no|n['’])t|am (?:not able|unable) to|['’]m (?:not able"
        r"|unable) to|(?:do not|don['’]t) have (?:the ability|the capability|the means) to)\s+(?:\w+ly )?(?:see"
        r"|view|watch|access|open|play|process|analy[sz]e|load|display|interpret|look at)\s+(?:(?:the|this|that"
        rf"|any|your|these|those|actual|provided|a)\s+){{0,2}}{_MEDIUM}\b(?! (?:of|on the|in the|from))",
        r"\bI (?:do not|don['’]t) have (?:any |direct )?(?:access to|visual|eyes)",
        rf"\bno {_MEDIUM} (?:was|were|has been|have been|is|are) (?:provided|attached|given|uploaded|shared"
        r"|supplied)",
        r"\bplease (?:provide|upload|share|attach|send)(?: me)? (?:(?:the|a|your|more|an"
        rf"|actual)\s+){{0,2}}{_MATERIAL}\b",
        rf"\bwithout (?:seeing|access to|watching|viewing) the (?:actual )?{_MEDIUM}\b",
        # Remarks about the task before or after the text.
        r"^\W*(?:sure|certainly|of course|absolutely|okay|ok|great|gladly|understood"
        r"|got it)(?:\s+thing)?\W+(?:here|below|this is|i['’]ll|i will|let me|i['’]ve|i have)\b",
        r"^\W*(?:here(?:['’]s| is| are)|below (?:is|are)|the following (?:is|are))\s+(?:the |a |an |my |your "
        r"|some |five |six )*(?:\w+ )?(?:questions?|answers?|captions?|summary|description|chain|dialogue"
        r"|conversation|checklist|JSON|response|rewrite|rewritten|draft|list|revised|corrected|output)\b",
        r"\b(?:as|per) (?:you )?(?:requested|instructed)\b",
        r"\bas per (?:the|your) (?:instructions?|request)\b",
        r"\b(?:I hope|hope) (?:this|that|it) helps\b",
        r"\bthank you for (?:your request|providing)\b",
        r"\bfeel free to (?:ask|modify|adjust)\b",
        r"\blet me know if you (?:need|want|would like) (?:any |some |me to |further )*(?:changes?|adjust|modif"
        r"|revis|edit|rewrite)",
        r"\blet me know if you (?:need anything|have (?:any )?(?:other |further |more )?questions)\b",
        r"\bas an? (?:\w+ )?assistant,? I\b",
        r"\bI\s*(?:can(?:no|['’])t|can not) (?:actually|physically|directly) (?:see|view|watch)\b",
        r"\bAI[- ](?:generated|written|assistant)\b",
        r"\b(?:have|has|had|with|got) (?:no|any|limited) access to (?:the|this|any|your)\b",
        r"\b(?:my|this|the above) analysis\b",
        r"\bI(?:['’]ve| have)? (?:carefully )?(?:analy[sz]ed|reviewed|examined)\b",
        r"\bI (?:was|am|have)(?: not|n['’]t)? (?:been )?(?:given|provided|shown|supplied|sent)"
        r" (?:any|no|only|with|the|a)\b",
        rf"\b{_MEDIUM} (?:is|was|are|were) (?:not (?:currently )?(?:available|accessible|loading)|unavailable)\b",
        rf"\b(?:based|judging|going) (?:on|by|from|off) (?:the|these|this|those|its) (?:\w+ ){{0,3}}"
        rf"{_GIVEN}\b(?! on\b)",
        rf"\baccording to (?:the|this|your) (?:\w+ )?{_GIVEN}\b(?! on\b)",
        r"\b(?:scene|video|clip|image|frame|visual) (?:descriptions?|captions?|metadata|data|information)\b",
        rf"\b{_MATERIAL} (?:that )?you(?:['’]ve| have)? (?:given|shown|shared)\b",
        rf"\b(?:provided|given|supplied|uploaded|attached|input|available) (?:video |scene |visual )?{_MATERIAL}\b",
        rf"\b{_MATERIAL} (?:that )?(?:you(?:['’]ve| have)? )?(?:provided|supplied|uploaded|attached|given to me"
        r"|sent)\b",
        rf"\bthe (?:{_MEDIUM} )?(?:caption|description|transcript|context|prompt|metadata) (?:says|states|mentions"
        r"|describes|notes|indicates|does not|doesn['’]t)\b",
        r"\b(?:the|this|your) (?:system )?prompt (?:says|asks|wants|requires|above)\b",
        r"\bthe instructions? (?:say|ask|require)s?\b",
        r"\b(?:generate|write|create) (?:a |the )?(?:valid )?JSON\b",
        r"\bI need to (?:write|generate|produce|create|answer|output)\b",
        r"^\W*(?:let['’]s|let me) (?:think|analy[sz]e|see what the|break (?:this|it) down)\b",
        r"作为(?:一个|一名|一款|一位)?(?:\w{0,4})(?:AI|人工智能|语言模型|大模型|智能助手|聊天机器人)",
        r"我(?:只)?是(?:一个|一名|一款)?(?:AI|人工智能|语言模型|大模型|智能助手|聊天机器人|通义|文心)",
        r"我(?:无法|不能|没办法|没有办法|看不到)(?:直接|真正|实际)?(?:看到|观看|查看|访问|播放|打开|分析|处理|读取|看)?(?:到|了)?(?:该|这个|这段|你的|您的|任何|此"
        r"|实际)?(?:视频|画面|图片|图像|影片|文件|录像)(?![里中内上])",
        r"^\W*(?:好的|当然(?:可以)?|没问题|可以|明白了?|收到)[，,！!。\s]*(?:以下|下面|这|我来|我会|让我)",
        r"^\W*(?:以下|下面)是",
        r"(?:根据|基于|按照|从)(?:您|你|所|以上|上述|上面|前面)*(?:提供|给出|给定|上传|上述|上面)的?(?:视频|图片|图像|帧|画面|上下文|信息|描述|内容|资料|字幕|材料|素材)",
        r"(?:提供|给出|给定|上传)的\w{0,4}?(?:上下文|视频|视频帧|帧|图片|图像|画面|信息|描述|内容|材料)",
        r"请(?:您|你)?(?:提供|上传|发送)\w{0,6}(?:视频|图片|图像|文件|画面)",
        r"希望(?:这|以上|我的)\w{0,6}(?:有(?:所)?帮助|帮到)",
        r"(?:按照?|根据)(?:您|你)的(?:要求|指示|请求)",
        r"我的(?:训练数据|知识截止|系统提示)",
    ),
    re.IGNORECASE,
)
_EXCUSE: Final = re.compile(
    _any(
        r"\b(?:sorry|apologi[sz]e|apologies|unfortunately|regret)\b\W+(?:but\W+)?(?:\w+\W+){0,3}?I\W*(?:can|could"
        r"|am|['’]m|do|don|won|was|have)",
        r"\b(?:I['’]m|I am|we['’]re|we are) sorry,? but\b",
        r"\bI\s*(?:can(?:no|['’])t|can not|am unable to|['’]m unable to|won['’]t|am not able to) (?:help|assist"
        r"|comply|fulfill?|provide|answer|do that|generate|create|describe|respond|continue|discuss)\b",
        r"(?:抱歉|对不起|很遗憾|不好意思)[，,。！!\s]*(?:但是?)?(?:我|作为|这|无法|不能)",
        r"我(?:无法|不能|没法|没办法)(?:帮|协助|提供|回答|满足|生成|描述|完成|继续)",
    ),
    re.IGNORECASE,
)


def _speaks_of_itself(text: str, part: Part, _: Language, __: TextSettings) -> Said:
    match = _SPEAKS_OF_ITSELF.search(text)
    # A user may beg pardon, and whoever declines does so politely.
    if not match and part not in (*_SAID_BY_USER, "refusal"):
        match = _EXCUSE.search(text)
    if match:
        yield f"speaks of the model, its task or its material: {shorten(match[0].strip())}"


_DECLINES: Final = re.compile(
    _any(
        r"\b(?:can(?:no|['’])t|can not|could(?: not|n['’]t)) be (?:determined|identified|answered|ascertained"
        r"|inferred|verified|confirmed|known)\b",
        r"\b(?:it is|it['’]s|it was) (?:not possible|impossible|unclear|not clear|unknown|not known)\b",
        r"\b(?:the|this) (?:video|clip|scene|footage|segment) (?:does not|doesn['’]t|did not|didn['’]t"
        r"|never) (?:really |actually |clearly |explicitly )?(?:show|provide|specify|say|mention|contain|give"
        r"|indicate|reveal|include|tell|depict)s?\b",
        r"\b(?:not|n['’]t) (?:have )?(?:enough|sufficient) (?:information|context|details?|evidence)\b",
        r"\bno way (?:to (?:know|tell|say)|of knowing)\b",
        r"\b(?:answer|information) is (?:unknown|unclear|not (?:known|available|provided|given)|unavailable)\b",
        r"^\W*(?:it(?:['’]s| is) )?(?:hard|difficult|impossible) to (?:say|tell|know|determine)\W*$",
        r"无法(?:从|根据|由)\w{0,8}(?:得知|看出|判断|确定|知道)",
        r"\binsufficient (?:information|context|details?)\b",
        r"\bno (?:information|indication|mention|evidence) (?:is|was|about|in|on|as to)\b",
        r"\b(?:not|n['’]t) (?:\w+ly )?(?:shown|specified|mentioned|provided|stated|depicted|visible"
        r"|indicated)(?: or \w+)?(?: \w+ly)? (?:in|by|from) (?:the|this) (?:video|clip|scene|footage)\b",
        r"^\W*(?:unknown|unclear|not (?:shown|specified|mentioned|visible|sure|applicable|clear|available|stated"
        r"|given)|I do(?: not|n['’]t) know|I(?: a|['’])m not sure|no idea|can(?:no|['’])t tell|no answer|unsure"
        r"|undetermined)\W*$",
        r"\bI\s*(?:do(?: not|n['’]t) (?:know|have enough)|(?:a|['’])m (?:not sure|unable|not able|unsure)"
        r"|(?:can(?:no|['’])t|can not|could(?:n['’]t)) (?:tell|say|determine|identify|make out|confirm|see))\b",
        r"无法(?:确定|判断|回答|得知|看出|辨认|确认|识别|看清|知道|判定)",
        r"不能(?:确定|判断)",
        r"视频(?:里|中|内)?(?:没有|未|并未|没|并没有)(?:显示|提到|说明|展示|给出|提及|交代|明确)",
        r"信息不足",
        r"没有(?:足够的?|相关|任何)?(?:信息|线索)",
        r"^\W*(?:暂时|目前|还)?(?:不知道|不清楚|未知|不确定|不详|看不出来|看不清楚?)\W*$",
        r"我(?:也)?不(?:知道|清楚|确定)",
    ),
    re.IGNORECASE,
)


def declines(text: str) -> bool:
    """True if a text says that something cannot be told, seen or answered."""
    return bool(_DECLINES.search(text) or _EXCUSE.search(text))


def _refuses(text: str, part: Part, _: Language, __: TextSettings) -> Said:
    if part not in ("answer", "summary", "caption", "object caption") or _ADDS.search(text):
        return
    if match := _DECLINES.search(text):
        yield f"declines to answer: {shorten(match[0].strip())}"


_ADDS: Final = re.compile(r"\b(?:but|however|although|though|still|except)\b|[;；]|但|不过|然而", re.IGNORECASE)
"""Words after which somebody who is not sure does answer."""

_ORDINAL: Final = (
    r"(?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|last|next|previous|final|opening|middle"
    r"|following|preceding|\d+(?:st|nd|rd|th))"
)
_NUMBER_WORD: Final = (
    r"(?:(?:twenty|thirty|forty|fifty|sixty)(?:[- ](?:one|two|three|four|five|six|seven|eight|nine))?|one|two|three"
    r"|four|five|six|seven|eight|nine|ten|eleven|twelve|(?:thir|four|fif|six|seven|eigh|nine)teen)"
)
_NUMERAL_ZH: Final = "[0-9０-９一二三四五六七八九十百零两]+"
FORBIDDEN: Final = {
    "a point in time": re.compile(
        # A clock on the wall is a thing in the video.
        _any(
            r"(?<!clock )(?<!watch )(?<!shows )(?<!reads )(?<!says )(?<!score )(?<!score of )(?<!display"
            r" )(?<![\d.:])\d{1,2}:\d{2}(:\d{2})?(?![\d:])(?!\s*(?:[ap]\.?m\b|o'clock))",
            # "12 seconds in" is a point in time, "12 minutes in the oven" is none.
            r"\b\d+(\.\d+)?[ -]?(s|secs?|seconds?|mins?|minutes?)\s+(in\b(?!\s+(an?|the|his|her|its|their|total|all"
            r"|each|every|this|that)\b)|(in|into|of)\s+(the|this)\s+(video|clip|scene|film)|mark\b)",
            r"\bat\s+(the\s+)?\d+(\.\d+)?(st|nd|rd|th)?[ -]?(s|secs?|seconds?|mins?|minutes?)\b(?!\s+(a|per|each)\b)",
            rf"\bat\s+(the\s+)?{_NUMBER_WORD}[ -](seconds?|minutes?)\b(?!\s+(a|per|each)\b)",
            rf"\b{_NUMBER_WORD}\s+seconds?\s+(in(to)?\s+the\s+(video|clip)|mark\b)",
            rf"\b(at|in|around|by|during)\s+the\s+({_NUMBER_WORD}(th|h)|\d+(st|nd|rd|th))\s+(second|minute)\b",
            r"\b(from|between)\s+\d+(\.\d+)?\s*(s|secs?|seconds?)?\s*(to|and|-|–)\s*\d+(\.\d+)?\s*(s|secs?|seconds?)\b",
            r"\b\d+(\.\d+)?\ss\b(?!['’])",
            r"\b\d+\.\d+s\b",
            r"\b(at|from|until|after|by|around)\s+\d+s\b",
            r"\b(second|minute)s?\s+\d+\b",
            r"\bt\s*=\s*\d",
            rf"\b(at|in|from|until|by|around) (second|minute)\s+{_NUMBER_WORD}\b",
            r"\btime-?stamps?\b",
            r"\btime\s?codes?\b",
            rf"第\s*{_NUMERAL_ZH}\s*(秒|分钟|分)",
            rf"{_NUMERAL_ZH}\s*(秒|分钟)\s*(时|处|的时候|左右)",
            r"时间戳",
            r"时间码",
            rf"视频的?(前|最后|开头|开始)的?\s*{_NUMERAL_ZH}\s*(秒|分钟)",
        ),
        re.IGNORECASE,
    ),
    "a frame": re.compile(
        # A frame that is a thing in the video may be talked about.
        _any(
            r"(?<!door )(?<!window )(?<!picture )(?<!photo )(?<!bed )(?<!bike )(?<!bicycle )(?<!wooden )(?<!metal"
            r" )(?<!mirror )(?<!climbing )(?<!walking )(?<!glasses )(?<!glass )(?<!golden )(?<!gold )(?<!silver"
            r" )(?<!black )(?<!white )(?<!empty )(?<!painting )(?<!poster )(?<!steel )(?<!time )\b(key-?"
            r"|sub-?)?frames?\b(?! (of (the|his|her|a) (door|window|picture|photo|painting|mirror|glasses|bed|bike)"
            r"|(on|from|off) (the|a) (wall|shelf|table|desk)))",
            r"关键帧",
            r"帧",
        ),
        re.IGNORECASE,
    ),
    "an image": re.compile(
        _any(
            r"\bimages?\b",
            rf"\b{_ORDINAL} stills?\b(?! (?:sit|stand|li|sleep|hold|wear|look|on|in|at))",
            r"\b(in|from) (the|this) (\w+ )?snapshots?\b",
            r"\bscreen-?shots?\b",
            r"\bthumbnails?\b",
            r"\b(picture|photo|photograph|still)s?\s+(shows?|depicts?|displays?|above|below)\b",
            rf"\b(in|from|of)\s+the\s+({_ORDINAL}\s+)?(picture|photo|photograph)s?\b(?!\s+(frame|album))",
            r"图片",
            r"图像",
            r"截图",
            r"照片[中里]",
            r"[幅张]画面",
            r"图[中里](?!书)",
        ),
        re.IGNORECASE,
    ),
    "a clip": re.compile(
        _any(
            rf"\b(?:video )?(?:clip|segment|chunk)s?\s+(?:no\.?\s*|number\s+|#\s?)?(?:\d+|{_NUMBER_WORD})\b",
            rf"\b{_ORDINAL}\s+(?:video\s+)?(?:clip|segment|chunk)\b",
            r"\b(?:earlier|later|other)\s+(?:video\s+)?clips?\b",
            rf"第\s*{_NUMERAL_ZH}\s*(?:个|段)?\s*(?:片段|视频片段|镜头)",
            r"[上下前后][一1]个?片段",
        ),
        re.IGNORECASE,
    ),
}


def _wording(text: str, part: Part, _: Language, __: TextSettings) -> Said:
    for what, pattern in FORBIDDEN.items():
        if match := pattern.search(text):
            yield f"speaks of {what}: {shorten(match[0])}"


def _foreign(text: str, _: Part, language: Language, settings: TextSettings) -> Said:
    # A sign is read out in its own language, and a name may be in any.
    plain = _QUOTED.sub(" ", text)
    letters = [character for character in plain if character.isalpha()]
    if not letters:
        return
    scripts = Counter(_script(character) for character in letters)
    script, count = max(
        ((name, n) for name, n in scripts.items() if name not in ("LATIN", "CJK")),
        key=lambda pair: pair[1],
        default=("", 0),
    )
    # Japanese mixes its own letters with Chinese characters.
    most = settings.max_other_script if script not in ("HIRAGANA", "KATAKANA") else settings.max_other_script / 2
    if count > most * len(letters) and count > 1:
        yield f"is written in {script.capitalize()} letters, not in {_NAMES[language]}"
        return
    han, words = scripts["CJK"], _LATIN_WORD.findall(plain)
    chinese = han / (han + 2 * len(words)) if han or words else 0.0
    if language == "zh":
        # "OK", "42" and "iPhone" are answers in any language.
        if chinese < settings.min_chinese_in_chinese and len(words) >= 3:
            yield "is not in Chinese"
    elif chinese > settings.max_chinese_in_english:
        yield "is in Chinese, not in English"
    elif (found := _recognised(words, settings)) is not None:
        yield f"is in another language ({found}), not in English"


_NAMES: Final = {"en": "English", "zh": "Chinese"}


@lru_cache(maxsize=4096)
def _script(character: str) -> str:
    return unicodedata.name(character, "UNKNOWN").split()[0].split("-")[0]


_ENGLISH: Final = frozenset(
    "the and but of at to from with by for as into onto up out off over under about is are were been being does did "
    "doing has have had can could will would shall should may might not than too very just there here then that this "
    "these those it its he him his she her hers they them their we us our you your my what which who whom whose when "
    "where why how yes all any both more most other such same only while during before after again video scene person "
    "i'm i've don't doesn't he's she's it's they're okay please sum up talked far".split()
)
"""Common English words that are no common words of other languages in Latin letters."""
_LANGUAGES: Final = (
    "ca cs cy da de en es et eu fi fr ga gl hr hu id is it lt lv ms nb nl no pl pt ro sk sl sq sv sw tl tr vi"
).split()
"""Languages in Latin letters that are told apart; a shorter list would give a wrong name, not a wrong verdict."""


def _recognised(words: list[str], settings: TextSettings) -> str | None:
    """The code of the language in Latin letters that a text is in, if it is surely not English."""
    if len(words) < settings.min_words_for_language:
        return None
    english = sum(word.casefold().replace("’", "'") in _ENGLISH for word in words)
    if english > _MOST_ENGLISH * len(words):
        return None
    # Names say nothing about the language around them.
    if sum(word[0].islower() for word in words[1:]) < 2:
        return None
    code, probability = _identifier().classify(" ".join(words))
    return code if code != "en" and probability >= settings.min_language_probability else None


_MOST_ENGLISH: Final = 0.15


@lru_cache(maxsize=1)
def _identifier() -> "LanguageIdentifier":
    # Reading the model takes half a second, and most texts need no model.
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    found = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    found.set_languages([code for code in _LANGUAGES if code in found.labels])
    return found


_SENTENCE_ENDS: Final = re.compile(r"[.!?…。！？][\"'”’」』)）\]]*\s*$")
_HANGS: Final = re.compile(r"[,;:，；：、([{（【《“「‘–—-]\s*$")
_MORE_MUST_FOLLOW: Final = re.compile(
    _any(
        r"\b(?:the|an?|and|or|but|because|of|including|such as|which is|while|although|whose|towards?|between"
        r"|onto)\s*$",
        r"(?:和|与|以及|因为|并且|或者|但是|而且|把|被|由于|例如|包括|正在)\s*$",
    ),
    re.IGNORECASE,
)
_MORE_WOULD_FOLLOW: Final = re.compile(
    _any(
        r"\b(?:with|at|from|for|by|as|which|who|that|then|he|she|they|his|its|their|my|your|is|are|was|were|in|into)\s*$",
        r"(?:然后|接着|在|从|向|往|一[个只张把件条])\s*$",
    ),
    re.IGNORECASE,
)
"""Ends of a text that may be whole, but is not if it is long and has no full stop."""
_INNER_END: Final = re.compile(r"[a-z\u4e00-\u9fff][.!?。！？]\s*(?=[A-Z\u4e00-\u9fff])")
_LONG, _LONG_END = 12, 6
_PAIRS: Final = (("(", ")"), ("（", "）"), ("“", "”"), ("「", "」"), ("《", "》"), ("[", "]"))


def _cut_off(text: str, part: Part, _: Language, __: TextSettings) -> Said:
    told = text.strip()
    if match := _HANGS.search(told) or _MORE_MUST_FOLLOW.search(told):
        yield f"breaks off: it ends with {shorten(match[0].strip())}"
        return
    if part not in _SAID_BY_USER and (match := _MORE_WOULD_FOLLOW.search(told)) and _is_long(told, _LONG_END):
        yield f"breaks off: it ends with {shorten(match[0].strip())}"
        return
    for opens, closes in _PAIRS:
        if told.count(opens) > told.count(closes):
            yield f"breaks off: a {opens} is not closed"
            return
    if not _SENTENCE_ENDS.search(told) and _INNER_END.search(told) and part not in _SAID_BY_USER:
        last = _INNER_END.split(told)[-1]
        if _is_long(told, _LONG):
            yield f"breaks off in its last sentence: {shorten(last)}"


def _is_long(text: str, least: int) -> bool:
    return len(_LATIN_WORD.findall(text)) >= least or len(_HAN.findall(text)) >= least


_MAY_RECUR: Final = frozenset(
    "ok okay ha haha he very no yes la na ho hee knock so bla blah again bye wow really more tick tock click beep woof "
    "meow quack bang boom ding dong yeah oh hey go row up down round around over".split()
)


def _looping(text: str, _: Part, __: Language, ___: TextSettings) -> Said:
    words = [word.casefold() for word in _WORD.findall(_HAN.sub(" ", text))]
    if (match := _SAME_WORD.search(text)) and (match[1] or match[2]).casefold() not in _MAY_RECUR:
        yield f"says the same over and over: {shorten(match[0])}"
        return
    for size in range(2, min(_LONGEST_LOOP, len(words) // 3) + 1):
        for at in range(len(words) - 3 * size + 1):
            phrase = words[at : at + size]
            if phrase == words[at + size : at + 2 * size] == words[at + 2 * size : at + 3 * size]:
                if set(phrase) <= _MAY_RECUR:
                    continue
                yield f"says the same over and over: {shorten(' '.join(phrase))}"
                return
    for size in range(_LONGEST_LOOP, 3, -1):
        runs = Counter(tuple(words[at : at + size]) for at in range(len(words) - size + 1))
        if often := next((run for run, count in runs.items() if count > 2 and 2 * count * size > len(words)), None):
            yield f"says the same over and over: {shorten(' '.join(often))}"
            return
    if match := _LOOP_ZH.search(text):
        yield f"says the same over and over: {shorten(match[0])}"
        return
    sentences = [told.strip().casefold() for told in re.split(r"[.!?。！？]+", text)]
    for one, other in pairwise(sentences):
        if one == other and len(_WORD.findall(one)) + len(_HAN.findall(one)) >= _LONG_SENTENCE:
            yield f"says one sentence twice: {shorten(one)}"
            return


_SAME_WORD: Final = re.compile(r"\b([a-z]+)(?:\s+\1\b){2,}|\b([a-z]+)(?:\W+\2\b){4,}", re.IGNORECASE)
_LONGEST_LOOP: Final = 12
_LOOP_ZH: Final = re.compile(
    r"(?:(?![哈呵嘿嘻啦咚滴嘟喵汪啪])(?P<one>[\u4e00-\u9fff])(?P=one){3,}|(?P<more>[\u4e00-\u9fff]{2,20}[，。、；]?)(?P=more){2,})"
)
_LONG_SENTENCE: Final = 4
"""Words of a sentence that does not stand twice in a row by chance."""


def _echoes(text: str, _: Part, __: Language, ___: TextSettings) -> Said:
    if match := _OF_PROMPTS.search(text):
        yield f"takes over words of its instructions: {shorten(match[0])}"
        return
    english, chinese = _instructions()
    words = tuple(word.casefold() for word in _WORD.findall(text))
    for at in range(len(words) - _SHINGLE_WORDS + 1):
        if (said := words[at : at + _SHINGLE_WORDS]) in english:
            yield f"takes over words of its instructions: {shorten(' '.join(said))}"
            return
    plain = "".join(_HAN.findall(text))
    for at in range(len(plain) - _SHINGLE_CHARACTERS + 1):
        if (told := plain[at : at + _SHINGLE_CHARACTERS]) in chinese:
            yield f"takes over words of its instructions: {told}"
            return


_OF_PROMPTS: Final = re.compile(
    _any(
        r"={4,}",
        r"\b(?i:this|the) (?:question|round|turn|chain) (?:tests?|checks?|rests on)\b",
        r"\blines? of equals signs\b",
        r"\b(?i:give|return|answer with|output) (?:one |a |the )?JSON\b",
        r"\bworked example\b",
        r"\b(?:Scene Understanding|Scene Reasoning|Object Reference|Memory Recall|Answer Refusal|Topic Shifting"
        r"|Proactive Interaction|Content Summary)\b",
        r"\b(?i:write in (?:English|Chinese))\b",
        r"两行等号",
        r"给出\s*JSON",
        r"用中文写",
        r"\b(?i:ground[- ]truth|reference answer|model answer)\b",
        r"标准答案",
        r"参考答案",
        r"范例回答",
    )
)
_SHINGLE_WORDS: Final = 8
_SHINGLE_CHARACTERS: Final = 14


@lru_cache(maxsize=1)
def _instructions() -> tuple[frozenset[tuple[str, ...]], frozenset[str]]:
    """Runs of words, and of Chinese characters, of all prompts without their examples."""
    english: set[tuple[str, ...]] = set()
    chinese: set[str] = set()
    for path in sorted((Path(__file__).parent / "prompts").glob("*/*.md")):
        for line in path.read_text(encoding="utf-8").splitlines():
            # What an example quotes may be said; a draft that copies the example is refused elsewhere.
            plain = _QUOTED.sub(" \x00 ", line)
            for run in plain.split("\x00"):
                words = tuple(word.casefold() for word in _WORD.findall(run))
                english.update(words[at : at + _SHINGLE_WORDS] for at in range(len(words) - _SHINGLE_WORDS + 1))
                told = "".join(_HAN.findall(run))
                chinese.update(told[at : at + _SHINGLE_CHARACTERS] for at in range(len(told) - _SHINGLE_CHARACTERS + 1))
    return frozenset(english), frozenset(chinese)


def _length(text: str, part: Part, language: Language, settings: TextSettings) -> Said:
    bounds = settings.model_dump()
    name = "characters" if language == "zh" else "words"
    size = len(_counted(text)) if language == "zh" else len(_WORD.findall(text))
    low_of, high_of = _BOUNDS[part]
    low = bounds[f"min_{low_of}_{name}"] if low_of else 0
    high = bounds[f"max_{high_of}_{name}"]
    if size < low:
        yield f"has {size} {name}, fewer than {low}"
    elif size > high:
        yield f"has {size} {name}, more than {high}"


def _counted(text: str) -> str:
    return "".join(character for character in text if character.isalnum())


_BOUNDS: Final[dict[Part, tuple[str | None, str]]] = {
    "question": ("question", "question"),
    # "Okay." is a complete turn of a user who is not interested.
    "remark": (None, "question"),
    "answer": (None, "answer"),
    "refusal": (None, "answer"),
    "summary": ("summary", "answer"),
    "caption": ("caption", "caption"),
    "object caption": ("question", "caption"),
    "checklist item": ("question", "caption"),
}
"""The names in the settings of a part's least and largest length."""


def _about_form(text: str, part: Part, _: Language, __: TextSettings) -> Said:
    if part == "checklist item" and (match := _FORM.search(text)):
        yield f"asks about the form of an answer, not about what it says: {shorten(match[0])}"


_ANSWER: Final = r"(?:answer|response|reply|text|it)"
_FORM: Final = re.compile(
    _any(
        rf"\b(?:at least|at most|more than|fewer than|less than|exactly|longer than|over|under)\s+"
        rf"(?:\d+|{_NUMBER_WORD}|[a-z])\s+(?:words?|sentences?|characters?|letters?|tokens?)\b",
        rf"\b(?:\d+|{_NUMBER_WORD}) (?:words?|sentences?|characters?) (?:or more|or fewer|long)\b",
        rf"^is (?:the |this )?{_ANSWER}\b[^?]{{0,24}}\b(?:fluent|grammatical|polite|concise|coherent|readable|helpful"
        r"|relevant|detailed|informative|short|long|longer|shorter|brief|empty|non-?empty|correct|right|wrong|true"
        r"|accurate|good|complete|clear|natural|about the video|in English|in Chinese|well[- ]\w+|free of)\b",
        r"\b(?:written|given|phrased|expressed|worded) in (?:English|Chinese|\w+ sentences?)\b",
        r"\b(?:full|complete|grammatical) sentences?\b",
        r"\b(?:fluent|fluently|grammatically|politely|concisely|grammatical errors?|spelling|punctuation)\b",
        rf"\bdoes (?:the |this )?{_ANSWER} (?:(?:reply|respond|answer)(?: (?:to )?the question| at all)?|exist"
        r"|contain (?:any )?(?:text|words?))\s*\?",
        r"\b(?:contain|use|include)s? the words?\b",
        r"[至最]少\w{0,3}\s*\w+\s*(?:个)?(?:字|词|句)",
        r"(?:通顺|流畅|礼貌|语法|标点|完整的句子)",
        r"是否(?:作答|回应|用中文|正确|准确|完整|相关|简短|清楚|详细|简洁)",
    ),
    re.IGNORECASE,
)

TEXT_RULES: Final[dict[str, Callable[[str, Part, Language, TextSettings], Said]]] = {
    "characters": _characters,
    "markup": _markup,
    "placeholder": _placeholder,
    "self": _speaks_of_itself,
    "prompt": _echoes,
    "language": _foreign,
    "looping": _looping,
    "cut_off": _cut_off,
    "declines": _refuses,
    "wording": _wording,
    "length": _length,
    "form": _about_form,
}
"""Rules for single texts by name. Each gives what is wrong with a text."""
