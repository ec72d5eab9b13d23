// The team: who works, who waits for whom, who asks you, what it costs, what changed.

import {html, useMemo, useState} from '../vendor/preact.js';
import {exact, seen, t} from '../words.js';
import {AgentCard, Plan} from '../parts/card.js';
import {Badge, Empty, Name, Pending} from '../parts/common.js';
import {Lanes} from '../parts/lanes.js';
import {buildBlocks} from '../parts/blocks.js';
import {Scrubber} from '../parts/scrubber.js';
import {explainWait, isBusy} from '../parts/status.js';
import {Thread} from './conversation.js';

// `room` is what store.js makes of a log; without `act` nothing can be changed, as in an exported file.
export function TeamView({room, now, act, models, base, tick, words, facts}) {
  const [chosen, setChosen] = useState('');
  const {replay} = room;
  const blocks = useMemo(() => (replay ? buildBlocks(replay.events) : room.blocks), [replay, room.blocks]);
  const shown = useMemo(() => (replay ? {...room, live: new Map(), first: 0, offline: true} : room), [replay, room]);
  if (room.status !== 'ready') return html`<${Pending} of=${room} retry=${() => act.reopen()} />`;
  const {board, events} = replay || room;
  const moving = !replay && !room.offline && board.agents.some(isBusy);
  const clock = moving ? now : Date.parse(board.updated) || 0;
  const row = board.agents.find((one) => one.id === chosen);
  const plan = board.agents[0]?.plan || [];
  const scrubber = html`<${Scrubber} head=${room.board.seq} at=${board.seq} ts=${board.updated} live=${!replay} show=${(seq) => room.show(seq)} />`;
  if (!board.agents.length) return html`<section class="team-main" aria-label=${t('team.label')}><${Empty} words=${t('team.empty')} />${scrubber}</section>`;
  return html`<div class="team">
    <section class="team-main" aria-label=${t('team.label')}>
      <${Why} board=${board} act=${act} />
      ${replay && html`<p class="box" role="status">${t('replay.shown', {seq: board.seq})}</p>`}
      <${Lanes} board=${board} events=${events} tick=${tick} now=${clock} until=${moving ? Math.floor(now / 5000) * 5000 : 0} selected=${chosen} select=${(id) => setChosen(id === chosen ? '' : id)} />
      <div class="team-strip">
        ${plan.length > 0 && html`<section class="strip-plan" aria-label=${t('plan')}><h2>${t('plan')}</h2><${Plan} steps=${plan} /></section>`}
        <${Counts} board=${board} base=${base} />
      </div>
      <${Thread} room=${shown} board=${board} facts=${facts} words=${words} only=${chosen} act=${null} blocks=${blocks} />
      ${scrubber}
    </section>
    ${row && html`<${AgentCard} key=${row.id} board=${board} row=${row} now=${clock} act=${replay ? null : act} models=${models} base=${base} close=${() => setChosen('')} />`}
  </div>`;
}

function Why({board, act}) {
  const chain = explainWait(board);
  if (!chain.length) return null;
  const ask = chain[chain.length - 1] === 'user';
  const question = ask && board.questions.find((one) => one.agent_id === chain[chain.length - 2]);
  return html`<div class=${`why${ask ? ' asks' : ''}`} role="status"><span class="strong">${t('why')}</span>
    <span class="why-chain">${chain.map((id, at) => html`<span class="row" key=${at}>${at > 0 && html`<span class="muted" aria-hidden="true">→</span><span class="hidden">${t('why.on')}</span>`}
      ${id !== 'user' && html`<${Badge} board=${board} id=${id} />`}<${Name} board=${board} id=${id} length=${20} /></span>`)}
      ${question && html`<span class="code muted clip">${seen(question.tool)}</span>`}</span>
    ${ask && act && html`<a class="button ask" href="#/inbox">${t('answer')}</a>`}</div>`;
}

function Counts({board: {counts, files}, base}) {
  const cells = [['mail', counts.messages], ['calls', counts.calls], ['failedCalls', counts.failed_calls], ['files', files.length], ['errors', counts.errors], ['denials', counts.denials]];
  return html`<ul class="counts">${cells.filter(([key, n]) => n || ['mail', 'calls', 'files'].includes(key)).map(([key, n]) => html`<li key=${key} class=${key === 'errors' || key === 'failedCalls' ? 'error' : ''}>
    <a href=${base && `${base}/${key === 'files' ? 'changes' : 'conversation'}`}><span class="num strong">${exact(n)}</span> ${t(`count.${key}`, {n})}</a></li>`)}</ul>`;
}
