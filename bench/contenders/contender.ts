/** What a benchmark compares: a server that takes signed callbacks, and counts those that came to their end. */
import type { Server } from 'node:http'
import type { SchemeName } from '../load/schemes.ts'
import type { StoreName } from './stores.ts'

/** What a contender does with a callback, for the table: a rate says little without it. */
export interface Does {
  readonly verifies: boolean
  /** Checks or reads the fields. */
  readonly reads: boolean
  /** Hands it to handlers by its type. */
  readonly dispatches: boolean
  /** Knows what it has seen. */
  readonly dedupes: boolean
  /** One event of a message at a time, older ones told apart. */
  readonly orders: boolean
  /** Tries a handler that failed again. */
  readonly retries: boolean
  /** Every 204 is on the disk. */
  readonly stores: boolean
}

export interface StartOptions {
  /** Handlers of the event, of which the first counts. Default 1. */
  readonly handlers?: number
  /** Projects with a pair each, all with the same secrets. Default: one pair, for whatever project. */
  readonly projects?: number
  /** Messages that the store knows already. Default 0. */
  readonly known?: number
  /** The name of where events are kept: processes that get the same one share it. Default: a place of its own. */
  readonly place?: string
}

export interface Contender {
  readonly label: string
  readonly scheme: SchemeName
  /** The status of the answer to a callback that is taken. */
  readonly answers: number
  readonly does: Does
  /** Where it keeps events, if it does: which server must be there, and whose CPU time counts. */
  readonly store?: StoreName
  /** Of a library that can be set up in many ways: how it is. */
  readonly settings?: string
  /** Our own receiver. */
  readonly ours?: true
  readonly start: (options: StartOptions) => Promise<Running>
}

export interface Running {
  readonly server: Server
  readonly tally: Tally
  /** Resolves when nothing of what was answered is left to be done, by whichever process. */
  settle(): Promise<void>
  /** `remove`: and nobody else uses the place where its events are. */
  close(options: { readonly remove: boolean }): Promise<void>
}

export interface Tally {
  readonly handled: number
  readonly sinceLastMs: number
  /** What every contender's handler does: the callback has come to its end. */
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

/** For one that is done with a callback when it has answered it. */
export function answersAtOnce(server: Server, tally: Tally): Running {
  return { server, tally, settle: () => Promise.resolve(), close: () => Promise.resolve() }
}
