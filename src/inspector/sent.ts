/** What `receiver.expect` was told of messages: a timeline begins with that, and by it those to somebody are found. */
import { encodeExpectation, isBegun } from '../inbox/expected.ts'
import { overdueIdentity } from '../inbox/identity.ts'
import { isOpen } from '../inbox/latest.ts'
import type { StoredEvent, StoredExpectation } from '../inbox/store.ts'
import { printed } from './json-text.ts'
import { HIDDEN, shownRecipient, withoutPhones } from './masking.ts'
import type { Rights } from './rights.ts'
import type { SentDetail, SentRow } from './shapes.ts'

/** More than the longest `meta` has as indented JSON. */
const MOST_META_CHARACTERS = 16 * 1024

export function sentDetail(stored: StoredExpectation, rights: Rights): SentDetail {
  const { reveal } = rights
  const { to, type, channel, campaign, reference, resendOf, meta } = stored.expectation
  const { sentAtMs, scheduledForMs, overdueAtMs, notAfterMs } = stored.expectation
  return {
    state: stateOf(stored),
    wasOverdue: stored.wasOverdue,
    sentAt: iso(sentAtMs),
    ...(to !== undefined && { to: shownRecipient(to, rights) }),
    ...(type !== undefined && { type }),
    ...(channel !== undefined && { channel }),
    ...(campaign !== undefined && { campaign: reveal ? campaign : withoutPhones(campaign) }),
    ...(reference !== undefined && { reference: reveal ? reference : withoutPhones(reference) }),
    ...(resendOf !== undefined && { resendOf }),
    ...(scheduledForMs !== undefined && { scheduledFor: iso(scheduledForMs) }),
    ...(overdueAtMs !== undefined && { overdueAt: iso(overdueAtMs) }),
    ...(notAfterMs !== undefined && { notAfter: iso(notAfterMs) }),
    ...(meta !== undefined && { meta: metaText(meta, reveal) }),
    ...(stored.expectation.refused !== undefined && { refused: stored.expectation.refused }),
  }
}

/** As a row of what was sent to somebody. */
export function sentRow(stored: StoredExpectation, rights: Rights): SentRow {
  const { messageId, project, channel, to, refused, sentAtMs } = stored.expectation
  const lastReport = stored.latest?.record.report?.type
  return {
    state: stateOf(stored),
    sentAt: iso(sentAtMs),
    ...(messageId !== undefined && { messageId }),
    ...(project !== undefined && { project }),
    ...(to !== undefined && { to: shownRecipient(to, rights) }),
    ...(channel !== undefined && { channel }),
    ...(refused !== undefined && { refused }),
    ...(lastReport !== undefined && { lastReport }),
  }
}

function stateOf({ expectation, latest, wasOverdue }: StoredExpectation): SentDetail['state'] {
  if (isBegun(expectation)) return wasOverdue ? 'unknown' : 'waiting'
  if (expectation.refused !== undefined) return 'refused'
  if (!isOpen(latest)) return 'ended'
  if (expectation.repeated === true) return 'repeated'
  return wasOverdue ? 'overdue' : 'waiting'
}

/** A store that has forgotten all but the identity of `message.overdue` still has what it said: what is kept of the send. */
export function withOverdue(
  events: readonly StoredEvent[],
  { messageKey, expectation }: StoredExpectation,
): readonly StoredEvent[] {
  const id = overdueIdentity(messageKey)
  const { project, sentAtMs, overdueAtMs = sentAtMs } = expectation
  const about = {
    project,
    kind: 'status',
    timestamp: Math.floor(overdueAtMs / 1_000),
    timestampSource: 'clock',
    proof: 'none',
    overdue: true,
  } as const
  return events.map((event) => {
    if (event.id !== id || event.record !== undefined) return event
    // It was made between the two.
    const record = { ...about, receivedAtMs: Math.max(overdueAtMs, event.endedAtMs ?? 0) }
    return { ...event, record, raw: encodeExpectation(expectation) }
  })
}

/** The app's own: nobody here knows which of its values name somebody. */
function metaText(meta: unknown, reveal: boolean): string {
  return printed(JSON.stringify(meta), {
    replace: reveal ? (_, text) => text : () => HIDDEN,
    nameOf: reveal ? (name) => name : withoutPhones,
    mostCharacters: MOST_META_CHARACTERS,
  })
}

function iso(ms: number): string {
  return new Date(ms).toISOString()
}
