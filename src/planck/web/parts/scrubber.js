// Any moment of the log: the fold up to it, from the checkpoint before.

import {html, useEffect, useRef, useState} from '../vendor/preact.js';
import {exact, t, time} from '../words.js';
import {Mark} from './common.js';

const PLAY_MS = 120;
const Key = ({word, mark, ...given}) => html`<button class="icon" aria-label=${t(word)} ...${given}>${mark}</button>`;

export function Scrubber({head, at, ts, show, live}) {
  const [playing, setPlaying] = useState(false);
  const [wanted, setWanted] = useState(null);
  const place = useRef(at);
  place.current = at;
  useEffect(() => {
    if (!playing) return undefined;
    const timer = setInterval(() => {
      if (place.current >= head) setPlaying(false);
      else show(place.current + 1);
    }, PLAY_MS);
    return () => clearInterval(timer);
  }, [playing, head]);
  useEffect(() => setWanted(null), [at]);
  const shown = wanted ?? at;
  const where = t('replay.at', {seq: shown, head});
  const go = (seq) => {
    setPlaying(false);
    setWanted(Math.min(Math.max(seq, 1), head));
    show(seq);
  };
  const play = () => {
    if (!playing && at >= head) show(1);
    setPlaying(!playing);
  };
  return html`<div class="scrubber" role="group" aria-label=${t('replay.label')}>
    <${Key} word="replay.back" mark="◀" disabled=${at <= 1} onClick=${() => go(at - 1)} />
    <${Key} word=${playing ? 'replay.pause' : 'replay.play'} mark=${playing ? '❚❚' : '▶'} disabled=${head < 2} aria-pressed=${playing} onClick=${play} />
    <${Key} word="replay.forward" mark="▶▏" disabled=${at >= head} onClick=${() => go(at + 1)} />
    <input type="range" min="1" max=${Math.max(1, head)} value=${shown} aria-label=${t('replay.place')} aria-valuetext=${where} onInput=${(event) => go(Number(event.target.value))} />
    <span class="num scrub-at" title=${where}>${exact(shown)} / ${exact(head)} <span class="muted">${time(ts)}</span></span>
    <button class=${live ? 'live on' : 'live'} aria-pressed=${live} onClick=${() => { setPlaying(false); show(null); }}><${Mark} is=${live ? '●' : '○'} /> ${t('replay.live')}</button></div>`;
}
