/**
 * What the inspector's server sends to its page, as JSON: types alone, for both. Times are ISO 8601 in UTC. A number that a
 * JavaScript number cannot hold exactly comes as written: payloads are sent as text, never as parsed JSON.
 */

type Counts = Readonly<Record<string, number>>

/** What may not be known. */
type Known<Names extends string, T = string> = Readonly<Partial<Record<Names, T | undefined>>>

/** What `authorize` allows; `read` goes without saying. */
export interface Session {
  readonly may: { readonly write: boolean; readonly reveal: boolean }
  readonly who?: string | undefined
  readonly version: string
  /** It looks into a store without the receiver on it: what only that process knows (counts, plot, handlers, quarantine) is empty. */
  readonly storeAlone: boolean
  readonly store: { readonly name: string; readonly durable: boolean }
  /** For the filters: what this receiver knows. */
  readonly types: readonly string[]
  readonly projects: readonly string[]
  readonly carriers: readonly string[]
}

/** One problem that somebody has to act on. */
export interface Attention {
  readonly what: 'health' | 'refused' | 'dead-letters' | 'overdue' | 'backlog'
  /** Such as `14 refused: wrong secret?`. */
  readonly title: string
  readonly count?: number | undefined
  readonly since?: string | undefined
  /** A sentence, the error, or the sentence of the refusal's code. */
  readonly text: string
  /** Of dead letters: the group, as `error` of api/dead-letters; of refusals: the class. */
  readonly group?: string | undefined
}

/** How far back the plot goes. */
export type Range = '15m' | '1h' | '24h'

export type Bucket = { readonly at: string } & Readonly<
  Record<'new' | 'duplicate' | 'late' | 'refused' | 'failed' | 'attempts', number>
>

/** GET api/overview?range. */
export interface Overview {
  readonly now: string
  readonly since: string
  readonly attention: readonly Attention[]
  readonly counts: Readonly<Record<'taken' | 'duplicates' | 'late' | 'refused', number>>
  readonly byType: Counts
  readonly byCarrier: Counts
  /** When the last report of each carrier came. */
  readonly lastByCarrier: Readonly<Record<string, string>>
  /** This process, a bucket each `bucketSeconds`, oldest first; no more than 181. */
  readonly plot: {
    readonly range: Range
    readonly bucketSeconds: number
    readonly buckets: readonly Bucket[]
    /** The 95th percentile of the attempts in the range that this process remembers. */
    readonly handlerP95Ms?: number | undefined
  }
  readonly backlog: { readonly running: number } & Known<'unsettled' | 'oldestDueSeconds', number>
  readonly deadLetters?: number | undefined
  readonly quarantine: Counts
  readonly store: { readonly name: string; readonly state: 'up' | 'away' | 'closed' }
  readonly spool?: { readonly events: number; readonly bytes: number } | undefined
  readonly holders: readonly {
    readonly name: string
    readonly isSelf: boolean
    readonly since?: string | undefined
    readonly silentMs: number
    readonly held: number
  }[]
  /** The latest things that went wrong, newest first, at most 50: code and message of ours, never a body. */
  readonly trouble: readonly (Readonly<Record<'at' | 'code' | 'message', string>> & { readonly count: number })[]
}

export type Outcome = 'waiting' | 'running' | 'retrying' | 'settled' | 'dead'

/**
 * What `receiver.expect` got of a message. `to` is masked but for the last two digits without `reveal`; `resendOf` is the message that
 * failed, where this one is its repetition; `meta` is indented JSON, its values masked without `reveal`; `refused` says why it was.
 */
export interface SentDetail extends Known<
  | 'to'
  | 'type'
  | 'channel'
  | 'campaign'
  | 'reference'
  | 'resendOf'
  | 'scheduledFor'
  | 'overdueAt'
  | 'notAfter'
  | 'meta'
  | 'refused'
> {
  /**
   * `waiting`: no end was reported, and there is time; `refused`: in the answer to the send; `repeated`: it was sent again;
   * `unknown`: whether it was sent.
   */
  readonly state: 'waiting' | 'overdue' | 'ended' | 'refused' | 'repeated' | 'unknown'
  /** The state in a sentence. */
  readonly why: string
  /** `send.overdue` was made of it, whatever came since. */
  readonly wasOverdue: boolean
  readonly sentAt: string
}

type EventTimes = 'receivedAt' | 'occurredAt' | 'admittedAt' | 'dueAt' | 'endedAt'

/**
 * One row of a list of events. `about` identifies a payment, a received message or a subscription, and is masked without `reveal`;
 * `recipient` is masked but for the last two digits.
 */
export interface EventRow
  extends
    Known<'type' | 'project' | 'kind' | 'channel' | 'carrier' | 'network' | 'messageId' | 'about' | 'recipient'>,
    Known<'status' | 'error' | EventTimes>,
    Known<'statusCode' | 'attempts', number> {
  readonly id: string
  readonly outcome: Outcome
  readonly late: boolean
  readonly proof?: 'authKey' | 'signature' | 'both' | 'none' | undefined
}

/** A message that was sent to the recipient who was searched for; of a send without an answer there is no id. */
export interface SentRow
  extends
    Pick<SentDetail, 'state' | 'sentAt' | 'to' | 'channel' | 'refused'>,
    /** `lastReport`: the type of its newest one. */
    Known<'messageId' | 'project' | 'lastReport'> {}

/** GET api/events?type&project&channel&carrier&outcome&from&to&q&after&limit. `q`: message id, recipient or event id. */
export interface EventList {
  readonly items: readonly EventRow[]
  readonly next?: string | undefined
  /** With `next` and few items or none: a bounded look has ended, and this is how far back it looked. */
  readonly lookedBackTo?: string | undefined
  /** `q` is the id of a message, of which there may be no event yet. */
  readonly message?: { readonly messageId: string; readonly project?: string | undefined } | undefined
  /** `q` is a recipient: the newest of what was sent to them, whatever came of it. */
  readonly sent?: readonly SentRow[] | undefined
  /** There may be more, sent before. */
  readonly sentBefore?: string | undefined
}

/** One attempt, as far as this process saw it or the store keeps it. */
export interface AttemptRow {
  readonly number: number
  readonly startedAt?: string | undefined
  readonly durationMs?: number | undefined
  /** `settled`: another process made it, and whether it succeeded or was discarded is not kept. */
  readonly outcome: 'running' | 'succeeded' | 'failed' | 'lost' | 'settled'
  readonly replay?: boolean | undefined
  readonly error?: string | undefined
  /** The handlers of it, where this process ran them: the pattern they were attached with, or their function's name. */
  readonly handlers: readonly {
    readonly name: string
    readonly durationMs?: number | undefined
    readonly outcome: 'succeeded' | 'failed' | 'timed out' | 'running'
    readonly error?: string | undefined
  }[]
}

/** Why a report says that the message failed. */
export type Failure = ({ readonly kind: string; readonly resend: boolean } & Known<'reason' | 'cause'>) | undefined

/** GET api/events/:id?of&project. `of`: the id of its message. */
export interface EventDetail {
  readonly event: EventRow
  /** Indented JSON, at most 16 KiB, masked without `reveal`; absent where nothing is kept. */
  readonly payload?: string | undefined
  readonly failure?: Failure
  /** Bytes alone without `reveal`. */
  readonly raw?: { readonly bytes: number; readonly isCut: boolean; readonly text?: string } | undefined
  /** The request as a command, its secrets as placeholders. */
  readonly curl?: string | undefined
  /** How it was proved, step by step. */
  readonly proofSteps: readonly {
    readonly what: string
    readonly outcome: 'held' | 'absent' | 'unknown'
    readonly detail: string
  }[]
  readonly attempts: readonly AttemptRow[]
  readonly oddities: readonly string[]
  readonly problem?: string | undefined
}

/** One line of a message's timeline. */
export interface TimelineEntry {
  readonly event: EventRow
  /** Where in the order of the message; by arrival: 1 came first. */
  readonly place: number
  readonly arrival: number
  /** Arrival less the time of the event. */
  readonly skewSeconds?: number | undefined
  readonly duplicatesAt: readonly string[]
  /** How long the gap was waited for, and whether what was missing came. */
  readonly gap?: { readonly waitedForMs: number; readonly missing: string; readonly filled: boolean } | undefined
  /** Why it stands there, where that is not plain: one sentence. */
  readonly why?: string | undefined
  readonly attempts: readonly AttemptRow[]
}

/** GET api/messages/:messageId?project. */
export interface MessageDetail {
  readonly messageId: string
  readonly project?: string | undefined
  readonly recipient?: string | undefined
  readonly latest?:
    | ({ readonly type: string; readonly failure?: Failure } & Pick<EventRow, 'status' | 'statusCode' | 'occurredAt'>)
    | undefined
  readonly finals: number
  readonly sent?: SentDetail | undefined
  /** How the reports of this message are ordered: one sentence. */
  readonly order?: string | undefined
  readonly entries: readonly TimelineEntry[]
}

/** GET api/dead-letters?type&project&error&from&to&after&limit; newest first. */
export interface DeadLetterList {
  readonly items: readonly { readonly event: EventRow; readonly diedAt: string; readonly group: string }[]
  readonly next?: string | undefined
  /** So many match, of so many. */
  readonly matching: number
  readonly total: number
  /** There are more than are looked at. */
  readonly isCut: boolean
  /** Of what matches all but `error`, the largest first. */
  readonly groups: readonly {
    readonly id: string
    /** The first line of the error, masked without `reveal`. */
    readonly error: string
    readonly count: number
    readonly since: string
    readonly last: string
  }[]
}

/** GET api/dead-letters/ids, with the same filters: all that match. */
export interface DeadLetterIds {
  readonly ids: readonly string[]
}

/** POST api/dead-letters/replay | force | discard, `{ ids }`, at most 500. */
export interface DeadLetterResult {
  readonly done: readonly string[]
  readonly missing: readonly string[]
  readonly failed: readonly { readonly id: string; readonly why: string }[]
}

/** GET api/quarantine?class&code&after&limit. */
export interface QuarantineList {
  readonly counts: Counts
  readonly bytes: number
  readonly dropped: number
  readonly classes: readonly { readonly name: string; readonly label: string; readonly what: string }[]
  /** Of the first thousand, by class, code and project; the largest of a class first. */
  readonly groups: readonly {
    readonly class: string
    /** Such as `wrong secret?`. */
    readonly guess: string
    readonly code: string
    /** The sentence of the code. */
    readonly why: string
    readonly project?: string | undefined
    readonly count: number
    readonly since: string
    readonly last: string
  }[]
  readonly items: readonly (Readonly<Record<'id' | 'class' | 'arrivedAt' | 'code', string>> &
    Known<'kind' | 'messageId' | 'project' | 'payload'> &
    Known<'offsetSeconds', number> & { readonly bytes: number })[]
  readonly next?: string | undefined
}

/** POST api/quarantine/reverify `{ dryRun, clockOffsetSeconds? }`. */
export type ReverifyResult = { readonly dryRun: boolean } & Readonly<
  Record<'examined' | 'admitted' | 'stillUnproved', number>
>

/** POST api/quarantine/clear `{}`. */
export interface ClearResult {
  readonly cleared: number
}

/** Data of an SSE event `change` on GET api/stream, at most one a second. Without it the page asks api/overview after each answer. */
export interface Change {
  readonly counts: Overview['counts']
  readonly backlog: Overview['backlog']
  readonly deadLetters?: number | undefined
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
