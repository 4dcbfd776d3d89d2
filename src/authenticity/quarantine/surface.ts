/** The quarantine as users hold it in their hands. Types only. */
import type { QuarantineClass } from './request.ts'
import type { QuarantinedRequest } from './shown.ts'

/** What `quarantine.reverify` takes. */
export interface ReverifyOptions {
  /**
   * How far this clock was ahead of the true time when the requests came, in seconds (negative: behind): the `offsetSeconds`
   * of `list()`. Default 0. Whoever recorded a signed callback can have it pass again by this, so give what was measured.
   */
  readonly clockOffsetSeconds?: number | undefined
  /** Ends the run; what was admitted until then stays admitted. */
  readonly signal?: AbortSignal | undefined
}

/** What became of it. */
export interface ReverifyCounts {
  readonly examined: number
  /** Proved, and taken by the store: new, late and duplicate ones. They are no longer in quarantine. */
  readonly admitted: number
  /** Still in quarantine, for no live key proves them, or the credentials could not be looked up. */
  readonly stillUnproved: number
}

/** How many requests are kept, by class, and what they take. */
export interface QuarantineCounts extends Readonly<Record<QuarantineClass, number>> {
  readonly bytes: number
  /** How many were not kept, or had to go, for want of room, since the receiver was created. */
  readonly dropped: number
}

/** What `quarantine.list` takes. */
export interface ListOptions {
  /** The `next` of a page, for the one that follows. */
  readonly after?: string | undefined
  /** Requests a page. Default 100. */
  readonly limit?: number | undefined
  /** Adds each body and signature header as it came, with the keys in it. Default false. */
  readonly reveal?: boolean | undefined
}

export interface QuarantinePage {
  readonly items: readonly QuarantinedRequest[]
  /** Pass it as `after` to go on; absent on the last page. */
  readonly next?: string
}

/**
 * The requests that were refused for want of a valid proof, within the bounds of the option `quarantine`. The better class
 * stays longest; within one, large bodies go first, and then what one address, one project name or one size holds too much
 * of, the newest before the others. Kept in memory, and in a folder where there is one.
 */
export interface Quarantine {
  /**
   * Verifies all of them again with the credentials as they are now, and admits what is proved: each with its own time of
   * arrival, by which its signature is judged, and in the order of its message. Requests whose credentials could not be
   * looked up are verified again without this call. Runs in turns, so that nothing else waits; a second call waits for
   * the first.
   * Rejects with a `MessagingWebhooksError` where the store cannot take an event, and with the reason of `signal`; what was
   * not admitted is still kept then.
   */
  reverify(options?: ReverifyOptions): Promise<ReverifyCounts>
  /** The kept requests in order of arrival, a page at a time; keys are masked by name at every depth. */
  list(page?: ListOptions): Promise<QuarantinePage>
  /** How many requests are kept; those that an earlier process left count once they are loaded, soon after the start. */
  readonly size: number
  /** The same by class, for metrics. */
  counts(): QuarantineCounts
  /** Forgets all of them. */
  clear(): void
}
