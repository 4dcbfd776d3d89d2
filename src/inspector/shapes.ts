/**
 * The JSON that the inspector's server sends to its page: the types of its functions' results. Times are ISO 8601 in UTC.
 * Payloads are sent as text, so that numbers stay as written. `masking.ts` masks answers on the way.
 */
import type { Letters } from './dead-letters.ts'
import type { listEvents } from './events.ts'
import type { showEvent, showMessage } from './message.ts'
import type { overview } from './overview.ts'
import type { Kept } from './quarantine.ts'
import type { sessionOf } from './routes.ts'
import type { Problem } from './server.ts'

export type { Problem }

type Json<T> = T extends Date ? string : T extends object ? { readonly [K in keyof T]: Json<T[K]> } : T

/** GET api/session. */
export type Session = Json<Awaited<ReturnType<typeof sessionOf>>>
/** GET api/overview?range. */
export type Overview = Json<Awaited<ReturnType<typeof overview>>>
export type Attention = Overview['attention'][number]
export type Bucket = Overview['plot']['buckets'][number]

/** GET api/events?type&project&channel&carrier&outcome&from&to&q&after&limit. `q`: message id, recipient or event id. */
export type EventList = Json<Awaited<ReturnType<typeof listEvents>>>
/** An event, as every page receives it. */
export type EventRow = EventList['items'][number]
export type Outcome = EventRow['outcome']
/** A recorded send. */
export type Sent = NonNullable<EventList['sent']>[number]
/** GET api/events/:id?of&project. `of`: the id of its message. */
export type EventDetail = Json<ReturnType<typeof showEvent>>
export type Attempt = EventDetail['attempts'][number]
/** GET api/messages/:messageId?project. */
export type MessageDetail = Json<Awaited<ReturnType<typeof showMessage>>>
export type TimelineEntry = MessageDetail['entries'][number]

/** GET api/dead-letters?type&project&error&from&to&after&limit. */
export type DeadLetterList = Json<Awaited<ReturnType<Letters['list']>>>
/** GET api/dead-letters/ids, with the same filters. */
export type DeadLetterIds = Json<Awaited<ReturnType<Letters['ids']>>>
/** POST api/dead-letters/replay | force | discard, `{ ids }`, at most 500. */
export type DeadLetterResult = Json<Awaited<ReturnType<Letters['change']>>>

/** GET api/quarantine?class&code&project&after&limit. */
export type QuarantineList = Json<Awaited<ReturnType<Kept['list']>>>
/** POST api/quarantine/reverify `{ dryRun, clockOffsetSeconds? }`. */
export type ReverifyResult = Json<Awaited<ReturnType<Kept['reverify']>>>
/** POST api/quarantine/clear `{}`. */
export type ClearResult = Json<ReturnType<Kept['clear']>>
