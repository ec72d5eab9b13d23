// Code with a little colour: when it is seen, and when there is time for it.

import {html, useEffect, useRef, useState} from './vendor/preact.js';
import {seen, t} from './words.js';

const LONGEST_CODE = 20_000;
const WORDS = new Set(`and as assert async await break case catch class const continue def default defer del do elif else end enum except export extends
 False final finally fn for from func function go if impl import in interface is let lambda match mod mut new nil None nonlocal not null or package pass private
 protected public raise return self static struct super switch then this throw trait True true false try type typeof undefined use var void where while with yield`.split(/\s+/));
const HASH = /^(py|python|sh|bash|shell|zsh|rb|ruby|yaml|yml|toml|make|makefile|dockerfile|r|perl|conf|ini|console|)$/i;
const LINE_KINDS = {'+': 'add', '-': 'del', '@': 'num'};
const TOKEN_KINDS = ['com', 'str', 'num'];

function tokenize(code, language) {
	if (code.length > LONGEST_CODE || /^(text|txt|plain|output|log)$/i.test(language)) return [['', code]];
	if (/^(diff|patch)$/i.test(language)) return code.split(/(?<=\n)/).map((line) => [LINE_KINDS[line[0]] || '', line]);
	const comment = HASH.test(language) ? '#[^\\n]*' : '//[^\\n]*|/\\*[^]*?(?:\\*/|$)';
	const token = new RegExp(`(${comment})|("(?:[^"\\\\\\n]|\\\\.)*"?|'(?:[^'\\\\\\n]|\\\\.)*'?|\`(?:[^\`\\\\]|\\\\.)*\`?)|(\\b\\d[\\w.]*)|[A-Za-z_$][\\w$]*`, 'g');
	const parts = [];
	let from = 0;
	for (const found of code.matchAll(token)) {
		const kind = TOKEN_KINDS[found.slice(1).findIndex((group) => group !== undefined)] || (WORDS.has(found[0]) && 'kw');
		if (!kind) continue;
		parts.push(['', code.slice(from, found.index)], [kind, found[0]]);
		from = found.index + found[0].length;
	}
	return [...parts, ['', code.slice(from)]];
}

const whenIdle = globalThis.requestIdleCallback || ((work) => setTimeout(work, 50));

export function CodeBlock({code, language = ''}) {
	const box = useRef(null);
	const [parts, setParts] = useState(null);
	const shown = seen(code);
	useEffect(() => {
		setParts(null);
		const watch = new IntersectionObserver((found) => {
			if (!found.some((one) => one.isIntersecting)) return;
			watch.disconnect();
			whenIdle(() => box.current && setParts(tokenize(shown, language)));
		});
		watch.observe(box.current);
		return () => watch.disconnect();
	}, [shown, language]);
	return html`<pre class="code-block" ref=${box} tabindex="0" aria-label=${language ? t('code.of', {language}) : t('code')}><code>${parts
		? parts.map(([kind, text], at) => (kind ? html`<span class=${`hl-${kind}`} key=${at}>${text}</span>` : text)) : shown}</code></pre>`;
}
