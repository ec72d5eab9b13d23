// Words and numbers in the user's language. Components hold no text of their own: they name a key.

import {english} from './i18n/en.js';
import {spanish} from './i18n/es.js';

const SAID = {en: english, es: spanish};
export const LANGUAGES = Object.keys(SAID);

let chosen = 'en';
let plural, number, fine, clockTime, fullTime, day;

export function chooseLanguage(wanted) {
	const asked = [wanted, ...(globalThis.navigator?.languages || [])];
	chosen = asked.map((one) => String(one || '').slice(0, 2)).find((one) => LANGUAGES.includes(one)) || 'en';
	const moments = (options) => new Intl.DateTimeFormat(chosen, {hourCycle: 'h23', ...options});
	plural = new Intl.PluralRules(chosen);
	number = new Intl.NumberFormat(chosen);
	fine = new Intl.NumberFormat(chosen, {maximumFractionDigits: 1});
	clockTime = moments({hour: '2-digit', minute: '2-digit'});
	fullTime = moments({dateStyle: 'medium', timeStyle: 'medium'});
	day = moments({day: 'numeric', month: 'short'});
	return chosen;
}
chooseLanguage('');

export function t(key, given = {}) {
	const [one, many = one] = (SAID[chosen][key] ?? key).split('|');
	return (plural.select(given.n) === 'one' ? one : many).replace(/\{(\w+)\}/g, (_, name) => {
		const value = given[name];
		return typeof value === 'number' ? exact(value) : String(value ?? '');
	});
}

// A word for a value of the server's; what we have no word for is shown as it is.
export const known = (group, value) => (Object.hasOwn(english, `${group}.${value}`) ? t(`${group}.${value}`) : value);

export const exact = (value) => number.format(value);
export const percent = (share) => share.toLocaleString(chosen, {style: 'percent'});

export function short(value) {
	if (value < 1000) return exact(value);
	return value < 999_950 ? `${fine.format(value / 1000)}k` : `${fine.format(value / 1e6)}M`;
}

export function money(value) {
	const digits = value >= 0.1 || value === 0 ? 2 : 4;
	return `$${new Intl.NumberFormat(chosen, {minimumFractionDigits: digits, maximumFractionDigits: digits}).format(value)}`;
}

// Money that was counted, or estimated where a provider counts nothing.
export const about = (estimated, value) => `${estimated ? '≈ ' : ''}${money(value)}`;

// What a board, or a row of it, has cost as far as its prices are known.
export const cost = ({cost_usd: known, unpriced, estimated}) => (!unpriced ? about(estimated, known) : known ? `≥ ${money(known)}` : t('cost.none'));

// Seconds and minutes look the same in both languages; whole seconds, as they are counted.
export function span(ms) {
	const seconds = Math.max(0, Math.floor(ms / 1000));
	const [size, unit] = seconds < 90 ? [1, 's'] : seconds < 5400 ? [60, 'min'] : seconds < 172_800 ? [3600, 'h'] : [86_400, 'd'];
	return `${exact(Math.floor(seconds / size))} ${unit}`;
}

export const took = (ms) => (ms < 10_000 ? `${fine.format(ms / 1000)} s` : span(ms));
export const time = (ts) => (ts ? clockTime.format(new Date(ts)) : '');
export const moment = (ts) => (ts ? fullTime.format(new Date(ts)) : '');

export function ago(ts, now) {
	const then = Date.parse(ts);
	if (!then) return '';
	if (now - then < 60_000) return t('time.now');
	if (now - then < 12 * 3600_000) return t('time.ago', {span: span(now - then)});
	return `${day.format(then)} ${clockTime.format(then)}`;
}

// Nothing stays invisible, as in records/visible.py; a joiner between two emoji is part of what is seen.
const UNSEEN = /[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb]|[\u{e0000}-\u{e0fff}]|[\ud800-\udfff]/gu;
const SEQUENCES = /(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x90\x98\x9c-\x9f]*(?:\x07|\x1b\\|\x9c)|\x1b[ -/]+[0-~]|\x1b[0-Z=>^-~]/g;
const PLAIN = /^[\x20-\x7e\n\t]*$/;

// A log may hold anything where a text belongs, also an object that String() throws at.
export const toText = (value) => (typeof value === 'string' ? value : (value ?? null) === null ? '' : JSON.stringify(value));

export function seen(value) {
	const text = toText(value);
	if (PLAIN.test(text)) return text;
	return text.replace(/\r\n/g, '\n').replace(UNSEEN, (one, at, all) => {
		if (one === '\u200d' && /\p{Extended_Pictographic}[\ufe0f\u{1f3fb}-\u{1f3ff}]*$/u.test(all.slice(Math.max(0, at - 8), at))) return one;
		const code = one.codePointAt(0);
		return code < 0x100 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u${code.toString(16).padStart(4, '0')}`;
	});
}

// For what tools put out: colours and titles of a terminal are dropped, a carriage return begins a line.
export const plain = (value) => seen(toText(value).replace(SEQUENCES, '').replace(/\r\n?/g, '\n'));

// On one line, cut in the middle.
export function brief(value, length) {
	const text = seen(value).replace(/\s+/g, ' ').trim();
	if (text.length <= length) return text;
	const letters = Array.from(text);
	if (letters.length <= length) return text;
	const tail = Math.floor((length - 1) / 3);
	return `${letters.slice(0, length - 1 - tail).join('')}…${tail ? letters.slice(-tail).join('') : ''}`;
}
