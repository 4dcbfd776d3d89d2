/** The measured costs that the capacity model reads: `bench:server` and `bench:storage` write them with COSTS=a file. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import type { SharedStore } from '../contenders/shared.ts'

/** Per event, with some number of processes. */
export interface EventCost {
  /** CPU time of the server; absent for SQLite, which works inside the receivers. */
  readonly storeUs?: number | undefined
  readonly receiversUs: number
  /** Both directions, between receivers and server. */
  readonly networkBytes?: number | undefined
  /** What the server writes to its log. */
  readonly logBytes?: number | undefined
}

/** Bytes per message, completed. */
export interface MessageBytes {
  /** Kept for `retentionDays`. */
  readonly payloads: number
  /** Kept for `dedupeDays`. */
  readonly records: number
}

export interface Costs {
  /** By store, then by the number of processes. */
  readonly events: Readonly<Partial<Record<SharedStore, Readonly<Record<string, EventCost>>>>>
  /** By store, then by reports a message. */
  readonly messages: Readonly<Partial<Record<SharedStore, Readonly<Record<string, MessageBytes>>>>>
  /** Bytes per callback in the spool. */
  readonly spoolBytes: number
  /** CPU time of an empty `node:http` server per request, written by hand: `npm run bench -- peers --only node-http-empty`. */
  readonly httpUs: number
}

const NONE: Costs = { events: {}, messages: {}, spoolBytes: 0, httpUs: 0 }

export function readCosts(path: string): Costs {
  // Written by this file alone.
  return { ...NONE, ...(JSON.parse(readFileSync(path, 'utf8')) as Partial<Costs>) }
}

/** Changes the file that COSTS names; without one, nothing. */
export function recordCosts(change: (costs: Costs) => Costs): void {
  const path = process.env['COSTS']
  if (path === undefined) return
  const costs = change(existsSync(path) ? readCosts(path) : NONE)
  writeFileSync(path, `${JSON.stringify(costs, undefined, 2)}\n`)
}
