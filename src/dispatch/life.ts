/** Where the dispatcher is in its life: the one state that all its parts look at, and that only dispatcher.ts changes. */
import type { OpenStore } from '../inbox/store.ts'
import type { Settler } from './settle.ts'

/** An open store, and who settles in it. */
export interface Opened extends Settler {
  readonly store: OpenStore<object>
}

export interface Life {
  /** Undefined until the store is open: nothing is leased before. */
  opened: Opened | undefined
  /** Nothing more is asked for. What is leased already, or will be by what is under way, still runs. */
  stopped: boolean
  /** Stopped, and what ran then was waited for. */
  over: boolean
}
