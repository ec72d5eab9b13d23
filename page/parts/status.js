// What an agent and a session do now, by a board: a mark, a word and since when. One home for every screen.

import {brief, t} from '../words.js';

const HUES = 8;

export const nameOf = (board, id) => {
	if (id === 'user') return t('you');
	const row = board.agents.find((one) => one.id === id);
	return row ? row.name || row.type : id || t('nobody');
};

export const hueOf = (board, id) => {
	if (id === 'user') return 'you';
	const at = board.agents.findIndex((row) => row.id === id);
	return at < 0 ? 'none' : `${at % HUES}${at >= HUES ? ' ring' : ''}`;
};

const MARKS = {work: '●', tool: '●', waits: '◌', asks: '▲', idle: '○', failed: '✗', ended: '–'};

export function describeAgent(board, row) {
	const question = board.questions.find((one) => one.agent_id === row.id);
	const look = (kind, word, since = row.since) => ({kind, mark: MARKS[kind], word, since});
	if (row.status === 'ended') {
		return row.ended === 'failed' ? look('failed', t('state.failed')) : look('ended', t('state.ended'));
	}
	if (row.stopping) return look('work', t('state.stopping'));
	if (question) return look('asks', t('state.asks'), question.since);
	if (row.waits.length && row.status !== 'idle') {
		const names = [...new Set(row.waits.map((wait) => nameOf(board, wait.on)))];
		return look('waits', t('state.waits', {name: brief(names.join(', '), 28)}), row.waits[0].since);
	}
	if (row.status === 'executing_tools' && row.calls.length) {
		const call = row.calls[row.calls.length - 1];
		return look('tool', brief(`${call.name} ${call.subject}`, 48), call.since);
	}
	if (row.status !== 'idle') return look('work', t('state.thinking'));
	if (row.error && row.last_turn === 'failed') return look('failed', t('state.error', {kind: row.error.kind}));
	if (row.last_turn === 'capped') return look('failed', t('turn.capped'));
	if (row.unread.length) return look('idle', t('state.unread', {n: row.unread.length}));
	return look('idle', t('state.idle'));
}

export const isBusy = (row) => row.status !== 'ended' && row.status !== 'idle';

// The longest chain of agents that wait for each other, where the last of them does not work: [agent id, …].
export function explainWait(board) {
	let longest = [];
	for (const row of board.agents) {
		const chain = [row.id];
		let at = row;
		while (at && isBusy(at)) {
			const next = at.waits[0]?.on;
			if (!next || chain.includes(next)) break;
			chain.push(next);
			at = board.agents.find((one) => one.id === next);
		}
		if (chain.length > longest.length) longest = chain;
	}
	// While somebody works for it, nothing is stuck.
	const last = board.agents.find((row) => row.id === longest[longest.length - 1]);
	return longest.length > 1 && !(last && isBusy(last) && !last.waits.length) ? longest : [];
}

export const STATES = {running: '●', waiting: '▲', done: '✓', failed: '✗', interrupted: '◼', '': '?'};
