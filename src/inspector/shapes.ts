/**
 * What the inspector's server sends to its page, as JSON: types alone, for both. Times are ISO 8601 in UTC. Payloads are sent as text,
 * so that a number stays as it was written. `masking.ts` masks what a reader without `reveal` may not see.
 */
type Counts = Readonly<Record<string, number>>

/** What may not be known. */
type Known<Names extends string, T = string> = Readonly<Partial<Record<Names, T | undefined>>>

/** GET api/session: the reader's rights, what this receiver knows, and what changed; an open page asks every 2 s. */
export interface Session extends Known<'who'>, Known<'deadLetters', number> {
  readonly may: { readonly write: boolean; readonly reveal: boolean }
  readonly version: string
  /** It looks into a store without the receiver on it: what only that process knows (counts, plot, handlers, quarantine) is empty. */
  readonly storeAlone: boolean
  readonly store: { readonly name: string; readonly durable: boolean }
  readonly types: readonly string[]
  readonly projects: readonly string[]
  readonly carriers: readonly string[]
  readonly quarantined: number
  /** Another text whenever something changed. */
  readonly changes: string
}

/** One problem that somebody has to act on. */
export interface Attention extends Known<'since' | 'group'> {
  readonly what: 'health' | 'refused' | 'dead-letters' | 'overdue' | 'backlog'
  /** Such as `14 refused: wrong secret?`. */
  readonly title: string
  readonly count?: number | undefined
  /** A sentence, the error, or the sentence of the refusal's code. */
  readonly text: string
}

/** How far back the plot goes. */
export type Range = '15m' | '1h' | '24h'

export type Bucket = { readonly at: string } & Readonly<
  Record<'new' | 'duplicate' | 'late' | 'refused' | 'failed' | 'attempts', number>
>

/** GET api/overview?range. */
export interface Overview {
  readonly since: string
  readonly attention: readonly Attention[]
  readonly stats: Readonly<Record<'taken' | 'duplicates' | 'late' | 'refused', number>> &
    Known<'unsettled' | 'deadLetters', number> & { readonly byType: Counts }
  readonly oldestDueMs?: number | undefined
  readonly quarantined: number
  /** `last`: when its last report came. */
  readonly carriers: readonly (Known<'last'> & { readonly name: string; readonly count: number })[]
  /** This process, a bucket each `bucketSeconds`, oldest first; no more than 181. */
  readonly plot: {
    readonly range: Range
    readonly bucketSeconds: number
    readonly buckets: readonly Bucket[]
    /** The 95th percentile of the attempts in the range that this process remembers. */
    readonly handlerP95Ms?: number | undefined
  }
}

export type Outcome = 'waiting' | 'running' | 'retrying' | 'settled' | 'dead'

type EventTimes = 'receivedAt' | 'occurredAt' | 'admittedAt' | 'dueAt' | 'endedAt'

/** An event, on every page. `about` identifies a payment, a received message or a subscription. */
export interface EventRow
  extends
    Known<'type' | 'project' | 'kind' | 'channel' | 'carrier' | 'network' | 'messageId' | 'about' | 'recipient'>,
    Known<'status' | 'error' | 'proof' | EventTimes>,
    Known<'statusCode' | 'attempts', number> {
  readonly id: string
  readonly outcome: Outcome
  readonly late: boolean
}

/**
 * What `receiver.expect` got of a message. `resendOf` is the message that failed, where this one is its repetition; `meta` is indented
 * JSON; `refused` says why it was; `lastReport` is the type of the newest one. Of a send without an answer there is no `messageId`.
 */
export interface Sent
  extends
    Known<'messageId' | 'project' | 'to' | 'type' | 'channel' | 'campaign' | 'reference' | 'resendOf' | 'scheduledFor'>,
    Known<'overdueAt' | 'notAfter' | 'meta' | 'refused' | 'lastReport'> {
  /**
   * `waiting`: no end was reported, and there is time; `refused`: in the answer to the send; `repeated`: it was sent again;
   * `unknown`: whether it was sent.
   */
  readonly state: 'waiting' | 'overdue' | 'ended' | 'refused' | 'repeated' | 'unknown'
  /** `send.overdue` was made of it, whatever came since. */
  readonly wasOverdue: boolean
  readonly sentAt: string
}

/** GET api/events?type&project&channel&carrier&outcome&from&to&q&after&limit. `q`: message id, recipient or event id. */
export interface EventList extends Known<'next'> {
  readonly items: readonly EventRow[]
  /** With `next` and few items or none: a bounded look has ended, and this is how far back it looked. */
  readonly lookedBackTo?: string | undefined
  /** `q` is the id of a message, of which there may be no event yet. */
  readonly message?: ({ readonly messageId: string } & Known<'project'>) | undefined
  /** `q` is a recipient: the newest of what was sent to them. */
  readonly sent?: readonly Sent[] | undefined
  /** There may be more, sent before. */
  readonly sentBefore?: string | undefined
}

/** One attempt, as far as this process saw it or the store keeps it. */
export interface Attempt extends Known<'startedAt' | 'error'>, Known<'durationMs', number> {
  readonly number: number
  /** `settled`: another process made it, and whether it succeeded or was discarded is not kept. */
  readonly outcome: 'running' | 'succeeded' | 'failed' | 'lost' | 'settled'
  readonly replay?: boolean | undefined
  /** Where this process ran them: the pattern they were attached with, or their function's name. */
  readonly handlers: readonly (Known<'error'> & {
    readonly name: string
    readonly durationMs: number
    readonly outcome: 'succeeded' | 'failed' | 'timed out'
  })[]
}

/** Why a report says that the message failed. */
export type Failure = ({ readonly kind: string; readonly resend: boolean } & Known<'reason' | 'cause'>) | undefined

/** GET api/events/:id?of&project. `of`: the id of its message. */
export interface EventDetail {
  readonly event: EventRow
  /** Indented JSON, at most 16 KiB; absent where nothing is kept, or it is no JSON. */
  readonly payload?: string | undefined
  readonly failure?: Failure
  /** Of the body, where it is kept. */
  readonly bytes?: number | undefined
  /** The request as a command, its secrets as placeholders. */
  readonly curl?: string | undefined
  readonly attempts: readonly Attempt[]
  readonly oddities: readonly string[]
  readonly problem?: string | undefined
}

/** One line of a message's timeline, in its order. */
export interface TimelineEntry {
  readonly event: EventRow
  /** 1 came first. */
  readonly arrival: number
  readonly duplicatesAt: readonly string[]
  /** How long the gap was waited for, and whether what was missing came. */
  readonly gap?: { readonly waitedForMs: number; readonly missing: string; readonly filled: boolean } | undefined
  /** Why it stands there, where that is not plain: one sentence. */
  readonly why?: string | undefined
  readonly attempts: readonly Attempt[]
}

/** GET api/messages/:messageId?project. */
export interface MessageDetail extends Known<'project' | 'recipient'> {
  readonly messageId: string
  readonly latest?:
    | (Pick<EventRow, 'status' | 'statusCode' | 'occurredAt'> & { readonly type: string; readonly failure?: Failure })
    | undefined
  readonly finals: number
  readonly sent?: Sent | undefined
  /** How the reports of this message are ordered: one sentence. */
  readonly order?: string | undefined
  readonly entries: readonly TimelineEntry[]
}

/** Events or requests of one cause, in the list below them. */
interface Group {
  readonly count: number
  readonly since: string
  readonly last: string
}

/** GET api/dead-letters?type&project&error&from&to&after&limit; newest first. */
export interface DeadLetterList extends Known<'next'> {
  readonly items: readonly EventRow[]
  /** So many match, of so many. */
  readonly matching: number
  readonly total: number
  /** There are more than are looked at. */
  readonly isCut: boolean
  /** Of what matches all but `error`, the largest first. `cause` is the first line of the error. */
  readonly groups: readonly (Group & { readonly id: string; readonly cause: string })[]
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

/** GET api/quarantine?class&code&project&after&limit. */
export interface QuarantineList extends Known<'next'> {
  readonly counts: { readonly bytes: number; readonly dropped: number }
  readonly size: number
  /** Of the first thousand, by class, code and project; the largest of a class first. */
  readonly groups: readonly (Group &
    Known<'project'> & {
      readonly class: string
      /** Such as `wrong secret?`. */
      readonly guess: string
      readonly code: string
      /** The sentence of the code. */
      readonly why: string
    })[]
  readonly items: readonly (Known<'kind' | 'messageId' | 'project' | 'payload'> &
    Known<'offsetSeconds', number> &
    Readonly<Record<'id' | 'class' | 'label' | 'arrivedAt' | 'code', string>> & { readonly bytes: number })[]
}

/** POST api/quarantine/reverify `{ dryRun, clockOffsetSeconds? }`. */
export type ReverifyResult = { readonly dryRun: boolean } & Readonly<
  Record<'examined' | 'admitted' | 'stillUnproved', number>
>

/** POST api/quarantine/clear `{}`. */
export interface ClearResult {
  readonly cleared: number
}

/** Any answer but 2xx. */
export interface Problem {
  readonly error: { readonly code: string; readonly message: string }
}
