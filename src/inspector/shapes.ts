/**
 * What the inspector's server sends to its page, as JSON: types alone, for both. Times are ISO 8601 in UTC. A number that a
 * JavaScript number cannot hold exactly comes as written: payloads are sent as text, never as parsed JSON.
 */

/** What `authorize` allows; `read` goes without saying. */
export interface Session {
  readonly may: { readonly write: boolean; readonly reveal: boolean }
  readonly who?: string
  readonly version: string
  /** It looks into a store without the receiver on it: what only that process knows (counts, plot, handlers, quarantine) is empty. */
  readonly storeAlone?: boolean
  readonly store: { readonly name: string; readonly listsEvents: boolean; readonly durable: boolean }
  /** For the filters: what this receiver knows. */
  readonly types: readonly string[]
  readonly projects: readonly string[]
  readonly carriers: readonly string[]
  readonly quarantineClasses: readonly string[]
}

/** GET api/overview. */
export interface Overview {
  readonly now: string
  readonly since: string
  readonly counts: {
    readonly taken: number
    readonly duplicates: number
    readonly late: number
    readonly refused: number
  }
  readonly byType: Readonly<Record<string, number>>
  readonly byCarrier: Readonly<Record<string, number>>
  readonly byChannel: Readonly<Record<string, number>>
  /** Refusals of this process by code. */
  readonly refusedBy: Readonly<Record<string, number>>
  /** This process, a bucket each `bucketSeconds`, oldest first; no more than 180. */
  readonly plot: {
    readonly bucketSeconds: number
    readonly buckets: readonly {
      readonly at: string
      readonly new: number
      readonly duplicate: number
      readonly late: number
      readonly refused: number
      readonly failed: number
    }[]
  }
  readonly backlog: { readonly unsettled?: number; readonly oldestDueSeconds?: number; readonly running: number }
  readonly deadLetters?: number
  /** Messages that became overdue, of which this process has handed the event over. */
  readonly overdue: number
  readonly quarantine: Readonly<Record<string, number>>
  readonly store: { readonly name: string; readonly state: 'up' | 'away' | 'closed' }
  readonly spool: { readonly events: number; readonly bytes: number } | undefined
  readonly holders: readonly {
    readonly name: string
    readonly isSelf: boolean
    readonly since?: string
    readonly silentMs: number
    readonly held: number
  }[]
  readonly health: {
    readonly live: boolean
    readonly ready: boolean
    readonly working: boolean
    readonly reasons: readonly string[]
  }
  /** The latest things that went wrong, newest first, at most 50: code and message of ours, never a body. */
  readonly trouble: readonly {
    readonly at: string
    readonly code: string
    readonly message: string
    readonly count: number
  }[]
}

export type Outcome = 'waiting' | 'running' | 'retrying' | 'settled' | 'dead'

/** What `receiver.expect` was told of a message. */
export interface SentDetail {
  /**
   * `waiting`: no end was reported, and there is time; `refused`: in the answer to the send; `repeated`: it was sent again;
   * `unknown`: whether it was sent.
   */
  readonly state: 'waiting' | 'overdue' | 'ended' | 'refused' | 'repeated' | 'unknown'
  /** `message.overdue` was made of it, whatever came since. */
  readonly wasOverdue: boolean
  readonly sentAt: string
  /** Masked but for the last two digits without `reveal`. */
  readonly to?: string
  readonly type?: string
  readonly channel?: string
  readonly campaign?: string
  readonly reference?: string
  /** The message that failed, where this one is its repetition. */
  readonly resendOf?: string
  readonly scheduledFor?: string
  readonly overdueAt?: string
  readonly notAfter?: string
  /** Indented JSON; its values are masked without `reveal`. */
  readonly meta?: string
  /** Why, where it was refused. */
  readonly refused?: string
}

/** One row of a list of events. */
export interface EventRow {
  readonly id: string
  readonly type?: string
  readonly project?: string
  readonly kind?: string
  readonly channel?: string
  readonly carrier?: string
  readonly network?: string
  readonly messageId?: string
  /** Masked but for the last two digits without `reveal`. */
  readonly recipient?: string
  readonly status?: string
  readonly statusCode?: number
  readonly outcome: Outcome
  readonly late: boolean
  readonly attempts?: number
  readonly error?: string
  readonly receivedAt?: string
  readonly occurredAt?: string
  readonly admittedAt?: string
  readonly dueAt?: string
  readonly endedAt?: string
  readonly proof?: 'authKey' | 'signature' | 'both' | 'none'
}

/** A message that was sent to whom was searched for; of a send without an answer there is no id. */
export interface SentRow extends Pick<SentDetail, 'state' | 'sentAt' | 'to' | 'channel' | 'refused'> {
  readonly messageId?: string
  readonly project?: string
  /** Of its newest report. */
  readonly lastReport?: string
}

/** GET api/events?type&project&channel&carrier&outcome&from&to&q&after&limit. `q`: message id, recipient or event id. */
export interface EventList {
  readonly items: readonly EventRow[]
  readonly next?: string
  /** With `next` and few items or none: a bounded look has ended, and this is how far back it looked. */
  readonly lookedBackTo?: string
  /** `q` is the id of a message, of which there may be no event yet. */
  readonly message?: { readonly messageId: string; readonly project?: string }
  /** `q` is a recipient: the newest of what was sent to them, whatever came of it. */
  readonly sent?: readonly SentRow[]
  /** There may be more, sent before. */
  readonly sentBefore?: string
}

/** One attempt, as far as this process saw it or the store keeps it. */
export interface AttemptRow {
  readonly number: number
  readonly startedAt?: string
  readonly durationMs?: number
  /** `settled`: another process made it, and whether it succeeded or was discarded is not kept. */
  readonly outcome: 'running' | 'succeeded' | 'failed' | 'lost' | 'settled'
  readonly replay?: boolean
  readonly error?: string
  /** The handlers of it, where this process ran them: the pattern they were attached with, or their function's name. */
  readonly handlers: readonly {
    readonly name: string
    readonly durationMs?: number
    readonly outcome: 'succeeded' | 'failed' | 'timed out' | 'running'
    readonly error?: string
  }[]
}

/** GET api/events/:id?of&project. `of`: the id of its message. */
export interface EventDetail {
  readonly event: EventRow
  /** Indented JSON, at most 16 KiB, masked without `reveal`; absent where nothing is kept. */
  readonly payload?: string
  readonly failure?: {
    readonly kind: string
    readonly resend: boolean
    readonly reason?: string
    readonly cause?: string
  }
  readonly raw?: {
    readonly bytes: number
    readonly isCut: boolean
    readonly text?: string
    readonly hex: string
    readonly isMasked: boolean
  }
  /** How it was proved, step by step. */
  readonly proofSteps: readonly {
    readonly what: string
    readonly outcome: 'held' | 'absent' | 'unknown'
    readonly detail: string
  }[]
  readonly attempts: readonly AttemptRow[]
  readonly oddities: readonly string[]
  readonly problem?: string
}

/** One line of a message's timeline. */
export interface TimelineEntry {
  readonly event: EventRow
  /** Where in the order of the message; by arrival: 1 came first. */
  readonly place: number
  readonly arrival: number
  readonly proof?: string
  /** Arrival less the time of the event. */
  readonly skewSeconds?: number
  readonly duplicates: number
  readonly duplicatesAt: readonly string[]
  readonly late: boolean
  /** How long the gap was waited for, and whether what was missing came. */
  readonly gap?: { readonly waitedForMs: number; readonly missing: string; readonly filled: boolean }
  /** Why it stands there: one sentence. */
  readonly why: string
  readonly attempts: readonly AttemptRow[]
}

/** GET api/messages/:messageId?project. */
export interface MessageDetail {
  readonly messageId: string
  readonly project?: string
  readonly recipient?: string
  readonly latest?: {
    readonly type: string
    readonly status?: string
    readonly statusCode?: number
    readonly occurredAt?: string
    readonly failure?: EventDetail['failure']
  }
  readonly finals: number
  readonly sent?: SentDetail
  readonly entries: readonly TimelineEntry[]
}

/** GET api/dead-letters?after&limit. */
export interface DeadLetterList {
  readonly items: readonly {
    readonly event: EventRow
    readonly attempts: number
    readonly error: string
    readonly diedAt: string
  }[]
  readonly next?: string
}

/** POST api/dead-letters/replay | force | discard, `{ ids }`, at most 500. */
export interface DeadLetterResult {
  readonly done: readonly string[]
  readonly missing: readonly string[]
}

/** GET api/quarantine?class&after&limit. */
export interface QuarantineList {
  readonly counts: Readonly<Record<string, number>>
  readonly bytes: number
  readonly dropped: number
  readonly items: readonly {
    readonly id: string
    readonly class: string
    readonly arrivedAt: string
    readonly kind?: string
    readonly code: string
    /** The sentence of the code. */
    readonly why: string
    readonly offsetSeconds?: number
    readonly bytes: number
    readonly payload?: string
    readonly raw?: { readonly text?: string; readonly hex: string; readonly isCut: boolean }
  }[]
  readonly next?: string
}

/** POST api/quarantine/reverify `{ dryRun, clockOffsetSeconds? }`. */
export interface ReverifyResult {
  readonly dryRun: boolean
  readonly examined: number
  readonly admitted: number
  readonly stillUnproved: number
}

/** Data of an SSE event `change` on GET api/stream, at most one a second. Without it the page asks api/overview after each answer. */
export interface Change {
  readonly counts: Overview['counts']
  readonly backlog: Overview['backlog']
  readonly deadLetters?: number
  readonly quarantined: number
  /** Events and messages that changed since the last one; at most 100, then `many`. */
  readonly events: readonly string[]
  readonly messages: readonly string[]
  readonly many: boolean
}

/** Any answer but 2xx. */
export interface Problem {
  readonly error: { readonly code: string; readonly message: string }
}
