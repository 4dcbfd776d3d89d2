/** Events to admit, and requests to claim them. */
import { createHash } from 'node:crypto'
import type { Claim, ClaimRequest, NewEvent, OpenStore, Settlement } from 'messaging-webhooks/store'

const LEASE_MS = 60_000

export function digestOf(text: string): string {
  return createHash('sha256').update(text).digest().toString('hex', 0, 16)
}

/** A report of a message; `at` is its place there. */
export function eventOf(message: string, at = 1, raw = Buffer.from('{}')): NewEvent {
  const id = digestOf(`event ${message} ${at}`)
  const seconds = String(at).padStart(12, '0')
  return {
    id,
    messageKey: digestOf(`message ${message}`),
    order: `${seconds}3${seconds}${id}`,
    final: false,
    step: 0,
    awaits: 0,
    gapUntilMs: 0,
    record: {
      project: undefined,
      kind: 'status',
      timestamp: 1_700_000_000 + at,
      timestampSource: 'payload',
      receivedAtMs: Date.now(),
      proof: 'both',
      report: { type: 'message.delivered', shape: 'sms', messageId: message, channel: 'sms', status: 'delivered' },
    },
    raw,
  }
}

export async function claim(open: OpenStore<object>, request: Partial<ClaimRequest> = {}): Promise<readonly Claim[]> {
  const nowMs = request.nowMs ?? Date.now()
  const { claims } = await open.claim({
    limit: 100,
    nowMs,
    leaseUntilMs: nowMs + LEASE_MS,
    exclude: new Set(),
    ...request,
  })
  return claims
}

export function done({ id, messageKey, token }: Claim): Settlement {
  return { id, messageKey, token, outcome: 'done' }
}

/** The messages of what was claimed, by name. */
export function namesOf(claims: readonly Claim[]): readonly (string | undefined)[] {
  return claims.map(({ record }) => record.report?.messageId).toSorted()
}
