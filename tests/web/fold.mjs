// Folds logs with the page's reducer, as the page does, and says where it differs from the boards it is given.
// usage: node fold.mjs REDUCER LOGS   LOGS: [{name, events: [...], boards: {"<index>": board}}]

import assert from 'node:assert';
import {readFileSync} from 'node:fs';
import {pathToFileURL} from 'node:url';

const [reducer, logs] = process.argv.slice(2);
const {emptyBoard, reduce} = await import(pathToFileURL(reducer));

function freeze(value) {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    Object.values(value).forEach(freeze);
  }
  return value;
}

let compared = 0;
const wrong = [];
for (const {name, events, boards} of JSON.parse(readFileSync(logs, 'utf8'))) {
  let board = freeze(emptyBoard());
  for (const [index, event] of events.entries()) {
    board = freeze(reduce(board, freeze(event)));
    const wanted = boards[index];
    if (!wanted) continue;
    compared += 1;
    try {
      assert.deepStrictEqual(board, wanted);
    } catch (problem) {
      wrong.push({name, index, event: event.type, problem: problem.message.slice(0, 1500)});
      break;
    }
  }
}
console.log(JSON.stringify({compared, wrong}));
