/** What a benchmark compares: a server that accepts signed callbacks and counts those that completed. */
import type { Server } from 'node:http'
import type { SchemeName } from '../load/schemes.ts'
import type { StoreName } from './stores.ts'

/** What a contender does with a callback, for the table: a rate alone says little. */
export interface Does {
  readonly verifies: boolean
  /** Validates or reads the fields. */
  readonly reads: boolean
  /** Calls handlers by event type. */
  readonly dispatches: boolean
  /** Recognizes duplicates. */
  readonly dedupes: boolean
  /** Handles one event of a message at a time and marks older ones. */
  readonly orders: boolean
  /** Retries a handler that failed. */
  readonly retries: boolean
  /** Every event is on the disk before its 204. */
  readonly stores: boolean
}

export interface StartOptions {
  /** Handlers of the event; only the first counts. Default 1. */
  readonly handlers?: number
  /** Projects with a pair each, all with the same secrets. Default: one pair for any project. */
  readonly projects?: number
  /** Messages that the store already knows. Default 0. */
  readonly known?: number
  /** The name of the store's location; processes with the same name share it. Default: a location of its own. */
  readonly place?: string
}

export interface Contender {
  readonly label: string
  readonly scheme: SchemeName
  /** The status of the answer to an accepted callback. */
  readonly answers: number
  readonly does: Does
  /** The store that keeps its events, if any: which server must run, and whose CPU time counts. */
  readonly store?: StoreName
  /** How it is set up, for a library that can be set up in many ways. */
  readonly settings?: string
  /** Whether it is our own receiver. */
  readonly ours?: true
  readonly start: (options: StartOptions) => Promise<Running>
}

export interface Running {
  readonly server: Server
  readonly tally: Tally
  /** Resolves when every answered callback has completed, in any process. */
  settle(): Promise<void>
  /** `remove`: deletes the stored data, which no other process uses. */
  close(options: { readonly remove: boolean }): Promise<void>
}

export interface Tally {
  readonly handled: number
  readonly sinceLastMs: number
  /** Called by every contender's handler: the callback has completed. */
  count(): void
}

export function createTally(): Tally {
  let handled = 0
  let lastAtMs = 0
  return {
    get handled() {
      return handled
    },
    get sinceLastMs() {
      return performance.now() - lastAtMs
    },
    count() {
      handled += 1
      lastAtMs = performance.now()
    },
  }
}

/** For a contender that has finished with a callback once it has answered it. */
export function answersAtOnce(server: Server, tally: Tally): Running {
  return { server, tally, settle: () => Promise.resolve(), close: () => Promise.resolve() }
}
