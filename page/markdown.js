// Markdown to vnodes, never to a string of HTML. What a model writes is hostile: every text is a text node,
// every address is checked, and nothing takes longer than in proportion to its length.

import {Component, html} from './vendor/preact.js';
import {CodeBlock} from './highlight.js';
import {seen, t} from './words.js';

const LONGEST = 10_000;
const DEEPEST = 5;

// Whole blocks [{text, at}], `at` where each begins, so that of a text that grows only the last one is read again.
export function splitBlocks(text, from = 0) {
	const blocks = [];
	let lines = [];
	let fence = '';
	let at = from;
	let next = from;
	const push = () => {
		if (lines.length) blocks.push({text: lines.join('\n'), at});
		lines = [];
	};
	for (const line of text.slice(from).split('\n')) {
		if (!lines.length) at = next;
		next += line.length + 1;
		const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line);
		if (fence) {
			lines.push(line);
			if (mark && mark[1].startsWith(fence) && line.trim() === mark[1]) {
				fence = '';
				push();
			}
		} else if (mark) {
			push();
			at = next - line.length - 1;
			fence = mark[1];
			lines.push(line);
		} else if (!line.trim()) push();
		else lines.push(line);
	}
	push();
	return blocks;
}

export function safeAddress(address) {
	const text = address.trim();
	if (!/^(https?:\/\/|mailto:)/i.test(text) || seen(text) !== text) return '';
	try {
		const {protocol} = new URL(text);
		return ['http:', 'https:', 'mailto:'].includes(protocol) ? text : '';
	} catch {
		return '';
	}
}

const link = (address, words) => {
	const safe = safeAddress(address);
	return safe ? html`<a href=${safe} target="_blank" rel="noopener noreferrer nofollow" title=${seen(safe)}>${words}</a>` : html`<span>${words} <span class="muted">(${seen(address)})</span></span>`;
};

const WRAPS = {'**': 'strong', __: 'strong', '~~': 'del', '*': 'em', _: 'em'};
const TOKEN = /(`+)|(\*\*|__|~~|[*_])|(!?)\[([^[\]\n]{0,300})\]\(([^()\s]{1,1000})\)|https?:\/\/[^\s<>()[\]{}"'`*]{1,1000}|\\([\\`*_{}[\]()#+\-.!~|>])/g;

export function inline(text, depth = 0) {
	if (depth > DEEPEST || text.length > LONGEST) return [seen(text)];
	const parts = [];
	const token = new RegExp(TOKEN.source, 'g');
	let from = 0;
	const missed = new Set();
	const before = (at) => { if (at > from) parts.push(seen(text.slice(from, at))); };
	for (let found = token.exec(text); found; found = token.exec(text)) {
		const [all, ticks, wrap, image, words, address, escaped] = found;
		const at = found.index;
		let end = at + all.length;
		let made = null;
		if (ticks || wrap) {
			const marker = ticks || wrap;
			const start = at + marker.length;
			const stop = missed.has(marker) ? -1 : text.indexOf(marker, start);
			if (stop < 0) missed.add(marker);
			const inside = stop > start ? text.slice(start, stop) : '';
			const outside = marker[0] === '_' && (/\w/.test(text[at - 1] || '') || /\w/.test(text[stop + marker.length] || ''));
			if (inside && ticks) made = html`<code>${seen(inside.trim() || inside)}</code>`;
			else if (inside && !outside && !/^\s|\s$/.test(inside)) made = html`<${WRAPS[marker]}>${inline(inside, depth + 1)}<//>`;
			if (made) end = stop + marker.length;
		} else if (escaped) made = escaped;
		else if (address) made = link(address, image ? t('md.image', {alt: seen(words)}) : inline(words || address, depth + 2));
		else {
			const bare = all.replace(/[.,;:!?]+$/, '');
			made = link(bare, seen(bare));
			end = at + bare.length;
		}
		token.lastIndex = end;
		if (!made) continue;
		before(at);
		parts.push(made);
		from = end;
	}
	before(text.length);
	return parts;
}

const ITEM = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/;

function readList(lines) {
	const items = [];
	for (const line of lines) {
		const found = ITEM.exec(line);
		if (found) items.push({depth: Math.min(4, Math.floor(found[1].replace(/\t/g, '  ').length / 2)), ordered: /\d/.test(found[2]), number: parseInt(found[2], 10), words: [found[3]]});
		else if (items.length) items[items.length - 1].words.push(line.trim());
	}
	const build = (from, depth) => {
		const made = [];
		let at = from;
		while (at < items.length && items[at].depth >= depth) {
			const item = items[at];
			const [inner, next] = at + 1 < items.length && items[at + 1].depth > item.depth ? build(at + 1, items[at + 1].depth) : [null, at + 1];
			const task = /^\[([ xX])\]\s+(.*)$/.exec(item.words[0]);
			const text = (task ? [`${task[1] === ' ' ? '☐' : '☑'} ${task[2]}`, ...item.words.slice(1)] : item.words).join('\n');
			made.push(html`<li>${inline(text)}${inner}</li>`);
			at = next;
		}
		const first = items[from];
		return [first.ordered ? html`<ol start=${first.number}>${made}</ol>` : html`<ul>${made}</ul>`, at];
	};
	const lists = [];
	for (let at = 0; at < items.length;) {
		const [made, next] = build(at, items[at].depth);
		lists.push(made);
		at = next;
	}
	return lists;
}

const cells = (line) => line.trim().replace(/^\||\|$/g, '').split('|').slice(0, 40).map((cell) => cell.trim());

function readTable(lines) {
	const head = cells(lines[0]);
	return html`<div class="table-box" tabindex="0" role="region" aria-label=${t('md.table')}><table><thead><tr>${head.map((cell) => html`<th scope="col">${inline(cell)}</th>`)}</tr></thead>
		<tbody>${lines.slice(2, 500).map((line) => html`<tr>${cells(line).map((cell) => html`<td>${inline(cell)}</td>`)}</tr>`)}</tbody></table></div>`;
}

function readBlock(text, depth = 0) {
	const lines = text.split('\n');
	const fence = /^ {0,3}(`{3,}|~{3,})\s*([\w+#.-]{0,30})/.exec(lines[0]);
	if (fence) {
		const closed = lines.length > 1 && lines[lines.length - 1].trim().startsWith(fence[1]);
		return html`<${CodeBlock} code=${lines.slice(1, closed ? -1 : undefined).join('\n')} language=${fence[2]} />`;
	}
	const title = /^ {0,3}(#{1,6})\s+(.*?)\s*#*$/.exec(lines[0]);
	if (title) return [html`<p><strong>${inline(title[2])}</strong></p>`, lines.length > 1 && readBlock(lines.slice(1).join('\n'), depth)];
	if (/^ {0,3}([-*_])(\s*\1){2,}\s*$/.test(lines[0])) return html`<hr />`;
	if (lines[0].startsWith('>') && depth < DEEPEST) return html`<blockquote>${readBlock(lines.map((line) => line.replace(/^>\s?/, '')).join('\n'), depth + 1)}</blockquote>`;
	if (lines.length > 1 && lines[0].includes('|') && /^[\s|:-]+$/.test(lines[1]) && lines[1].includes('-')) return readTable(lines);
	const first = lines.findIndex((line) => ITEM.test(line));
	if (first === 0) return readList(lines);
	if (first > 0 && first < lines.length) return [html`<p>${inline(lines.slice(0, first).join('\n'))}</p>`, readList(lines.slice(first))];
	return html`<p>${inline(text)}</p>`;
}

class Passage extends Component {
	shouldComponentUpdate({text}) { return text !== this.props.text; }

	render({text}) { return html`<div class="md">${readBlock(text)}</div>`; }
}

export class Markdown extends Passage {
	render({text}) {
		const {before, blocks} = this;
		const last = blocks?.length && text.startsWith(before) ? blocks[blocks.length - 1].at : 0;
		this.blocks = last ? [...blocks.slice(0, -1), ...splitBlocks(text, last)] : splitBlocks(text);
		this.before = text;
		return html`<div class="md">${this.blocks.map((block, at) => html`<${Passage} key=${at} text=${block.text} />`)}</div>`;
	}
}
