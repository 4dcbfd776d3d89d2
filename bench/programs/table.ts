/** The benchmark programs. The command line and its help read this table. */
import { runAgainst } from './against.ts'
import { runBodySize } from './body-size.ts'
import { runConnections } from './connections.ts'
import { runDispatch } from './dispatch.ts'
import { runDuplicates } from './duplicates.ts'
import { runForged } from './forged.ts'
import { runHandlers } from './handlers.ts'
import { runKnown } from './known.ts'
import { runLatency } from './latency.ts'
import { runMicro } from './micro.ts'
import { runPeers } from './peers.ts'
import { runProcesses } from './processes.ts'
import { runSameWork } from './same-work.ts'
import { runSlow } from './slow.ts'
import type { Program } from './program.ts'

export const PROGRAMS = {
  'same-work': {
    what: 'Compared with other tools that store, dispatch and mark as done, in each store.',
    run: runSameWork,
  },
  peers: { what: 'Every contender compared with the minimum cost of verified work.', run: runPeers },
  duplicates: { what: 'Duplicate callbacks, in every store.', run: runDuplicates },
  forged: { what: 'Bad digests, bad keys and garbage; 256 KiB of them too.', run: runForged },
  latency: { what: 'How long an answer takes at full load and at half of it, in every store.', run: runLatency },
  known: { what: 'Cost against the number of messages known, and memory for each.', run: runKnown },
  processes: { what: 'One, two and four processes on one store, beside BullMQ and pg-boss.', run: runProcesses },
  dispatch: { what: 'How fast the receiver dispatches a backlog, from every store.', run: runDispatch },
  'body-size': { what: 'Cost against the size of the body.', run: runBodySize },
  connections: { what: 'Cost against the number of connections.', run: runConnections },
  handlers: { what: 'Cost against the number of handlers.', run: runHandlers },
  slow: { what: 'Effect of clients with slow, large bodies on other callbacks and on memory.', run: runSlow },
  against: { what: 'This checkout compared with another built one, in the folder --checkout.', run: runAgainst },
  micro: { what: 'Each step of the pipeline alone: microseconds and bytes.', run: runMicro },
} as const satisfies Readonly<Record<string, Program>>

export type ProgramName = keyof typeof PROGRAMS

export function isProgram(name: string): name is ProgramName {
  return Object.hasOwn(PROGRAMS, name)
}
