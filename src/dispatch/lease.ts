/**
 * How long a lease lasts, and who notices that one has run out while handlers ran under it: the process stood still, or
 * something blocked its event loop. By then another process may run them, so ours are told to stop.
 */
import type { Clock } from '../clock.ts'
import { HandlerError, type MessagingWebhooksError } from '../errors.ts'
import { nameOf } from './attempt.ts'
import type { Leased, Work } from './capacity.ts'
import type { HandlerRegistry } from './handlers.ts'
import type { Life } from './settle.ts'

/** A lease outlasts the longest attempt by this much, so that there is time to wait for a slot and to settle. */
const MARGIN_MS = 10_000

interface LeaseOptions {
  readonly clock: Clock
  readonly handlers: HandlerRegistry
  readonly handlerTimeoutMs: number
}

export interface Lease {
  /** When one ends that begins then. */
  untilMs(nowMs: number): number
  /** Whether an attempt that begins now would end in time, however long it takes. */
  isLongEnough(leaseUntilMs: number): boolean
}

export function createLease({ clock, handlers, handlerTimeoutMs }: LeaseOptions): Lease {
  /** The schema and each handler have their own time. */
  function longestMs(): number {
    return (1 + handlers.most) * handlerTimeoutMs
  }

  return {
    untilMs: (nowMs) => nowMs + longestMs() + MARGIN_MS,
    isLongEnough: (leaseUntilMs) => clock.now() + longestMs() <= leaseUntilMs,
  }
}

/** After a standstill this timer is due before most of those that handlers have set. */
const BEAT_MS = 250

interface WatchOptions {
  readonly clock: Clock
  /** Of the store; where nobody shares it, nobody else can have taken an event. */
  readonly shared: boolean
  readonly life: Readonly<Life>
  readonly leased: Leased
  readonly report: (error: MessagingWebhooksError) => void
}

export interface LeaseWatch {
  /** Handlers of it run from now on. `onLost` is called once, when its lease turns out to be over. */
  begin(work: Work, onLost: (work: Work) => void): void
  /** They run no longer: what becomes of it now, the store says. */
  end(work: Work): void
  /** Looks whether its lease is over. */
  isLost(work: Work): boolean
}

export function createLeaseWatch({ clock, shared, life, leased, report }: WatchOptions): LeaseWatch {
  let isBeating = false

  function isLost(work: Work): boolean {
    if (work.isLost || work.onLost === undefined) return work.isLost
    if (!shared || life.over || clock.now() < work.leaseUntilMs) return false
    work.isLost = true
    const error = new HandlerError('lease_lost', nameOf(work.claim), work.claim.attempt)
    work.controller.abort(error)
    report(error)
    work.onLost(work)
    return true
  }

  function beat(): void {
    isBeating = false
    const watched = leased.works().filter(({ onLost }) => onLost !== undefined)
    for (const work of watched) isLost(work)
    if (watched.length > 0 && !life.over) beatLater()
  }

  function beatLater(): void {
    if (isBeating) return
    isBeating = true
    clock.setTimer(beat, BEAT_MS)
  }

  return {
    begin(work, onLost) {
      work.onLost = onLost
      if (shared) beatLater()
    },
    end(work) {
      work.onLost = undefined
    },
    isLost,
  }
}
