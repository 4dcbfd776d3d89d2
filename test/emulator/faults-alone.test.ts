/** Each fault alone, against a real receiver. `faults-together.full.test.ts` has all of them with each required proof. */
import type { ErrorCode } from 'messaging-webhooks'
import { callback } from 'messaging-webhooks/testing'
import { describe, expect, test, vi } from 'vitest'
import { FAULT_NAMES, FAULTS, type FaultName } from '../../src/emulator/faults.ts'
import { AUTH_KEY } from './emulating.ts'
import { DEADLINE_MS, NOW_MS, playing } from './playing.ts'

vi.setConfig({ testTimeout: 2 * DEADLINE_MS })

const CALLBACKS = 12
const NOW_SECONDS = Math.floor(NOW_MS / 1_000)
const POLL = { timeout: DEADLINE_MS }

/** Posts callbacks of different messages, each with this fault. */
async function play(name: FaultName) {
  const kind = name === 'noIdentity' ? 'payment' : 'status'
  const played = await playing({ faults: { [name]: 1 } }, { kind })
  const payloads = Array.from({ length: CALLBACKS }, (_, nth) => {
    const ids = { messageId: `m-${nth}`, timestamp: NOW_SECONDS - 10 }
    return kind === 'status'
      ? callback.smsDelivery(ids)
      : { messageId: ids.messageId, id: 'p-1', timestamp: NOW_SECONDS }
  })
  const sent = await Promise.all(payloads.map((payload) => played.emulator.callback(kind, payload)))
  return { ...played, payloads, sent: sent.flat() }
}

type Played = Awaited<ReturnType<typeof play>>

/** Handlers received each of them once, and nothing else. */
async function expectDispatchedOnce({ dispatched, receiver, payloads }: Played): Promise<void> {
  await expect.poll(() => dispatched.length, POLL).toBeGreaterThanOrEqual(payloads.length)
  expect(await receiver.drain({ deadlineMs: DEADLINE_MS })).toBe(true)
  const ids = dispatched.map(({ payload }) => (payload as { readonly messageId: string }).messageId)
  expect(ids.sort()).toEqual(payloads.map(({ messageId }) => messageId).sort())
}

/** How a request with each fault arrives, in addition to what the table says. */
const ARRIVES: Readonly<Record<FaultName, (played: Played) => void>> = {
  duplicate({ seen, payloads }) {
    const bodies = seen.map(({ chunks }) => Buffer.concat(chunks).toString())
    expect(bodies).toHaveLength(2 * payloads.length)
    expect(new Set(bodies).size).toBe(payloads.length)
  },
  reorder() {},
  delay() {},
  drop: ({ seen }) => expect(seen).toHaveLength(0),
  connectionReset({ seen, sent }) {
    for (const { chunks, headers } of seen)
      expect(Buffer.concat(chunks).length).toBeLessThan(Number(headers['content-length']))
    for (const { error, status } of sent) expect({ error, status }).toEqual({ error: 'reset, as planned' })
  },
  chunkedBody({ seen }) {
    for (const { headers, chunks } of seen) {
      expect(headers).toMatchObject({ 'transfer-encoding': 'chunked' })
      expect(headers).not.toHaveProperty('content-length')
      expect(chunks.length).toBeGreaterThan(1)
    }
  },
  slowBody({ seen }) {
    for (const { headers, chunks } of seen) expect(Buffer.concat(chunks).length).toBe(Number(headers['content-length']))
    // A busy machine may read several pieces at once, because the pauses between them are short.
    expect(seen.filter(({ chunks }) => chunks.length > 1).length).toBeGreaterThan(CALLBACKS / 2)
  },
  clockSkew({ seen }) {
    const offsets = seen.map(behindSeconds)
    for (const offset of offsets) {
      expect(Math.abs(offset)).toBeLessThanOrEqual(240)
      expect(offset).not.toBe(0)
    }
    expect(offsets.some((offset) => offset > 0)).toBe(true)
    expect(offsets.some((offset) => offset < 0)).toBe(true)
  },
  staleSignature({ seen }) {
    for (const request of seen) {
      expect(behindSeconds(request)).toBeGreaterThanOrEqual(600)
      expect(Buffer.concat(request.chunks).toString()).toContain(AUTH_KEY)
    }
  },
  tamperedByte({ seen }) {
    for (const { chunks } of seen) expect(Buffer.concat(chunks).includes(AUTH_KEY)).toBe(false)
  },
  oldKey({ seen }) {
    for (const { chunks } of seen) {
      const { authKey } = JSON.parse(Buffer.concat(chunks).toString()) as { readonly authKey: unknown }
      expect(authKey).toMatch(/^[0-9a-f]{64}$/)
    }
  },
  noSignature({ seen, dispatched }) {
    for (const { headers } of seen) expect(headers).not.toHaveProperty('x-service-signature')
    for (const { chunks } of seen) expect(Buffer.concat(chunks).toString()).toContain(AUTH_KEY)
    for (const { proof } of dispatched) expect(proof).toBe('authKey')
  },
  noAuthKey({ seen, dispatched }) {
    for (const { chunks } of seen) expect(Buffer.concat(chunks).toString()).not.toContain('authKey')
    for (const { signatures } of seen) expect(signatures).toHaveLength(1)
    for (const { proof } of dispatched) expect(proof).toBe('signature')
  },
  nulText({ seen, dispatched }) {
    for (const { chunks } of seen) expect(Buffer.concat(chunks).includes(String.raw`\u0000`)).toBe(true)
    for (const event of dispatched) expect(event.payload).toMatchObject({ description: 'Free text \u0000' })
  },
  noIdentity({ seen, dispatched }) {
    for (const { chunks } of seen) expect(Buffer.concat(chunks).toString()).not.toMatch(/"(id|timestamp)"/)
    for (const { timestampSource } of dispatched) expect(timestampSource).toBe('signature')
  },
  badUtf8({ seen, dispatched }) {
    for (const { chunks } of seen) expect(Buffer.concat(chunks).includes(Buffer.from([0xff, 0xc3, 0x28]))).toBe(true)
    for (const { payload, raw } of dispatched) {
      expect(payload).toMatchObject({ description: expect.stringContaining('\uFFFD') as unknown })
      expect(raw.includes(Buffer.from([0xed, 0xa0, 0x80]))).toBe(true)
    }
  },
}

const REFUSED_BECAUSE: Readonly<Partial<Record<FaultName, readonly ErrorCode[]>>> = {
  staleSignature: ['signature_stale'],
  tamperedByte: ['signature_mismatch'],
  oldKey: ['signature_mismatch'],
}

function behindSeconds({ signatures }: { readonly signatures: readonly string[] }): number {
  return NOW_SECONDS - Number(/^t=(\d+),/.exec(signatures[0] ?? '')?.[1])
}

describe.each(FAULT_NAMES)('%s', (name) => {
  const { accepted } = FAULTS[name]

  test(`accepted: ${accepted}`, async () => {
    const played = await play(name)
    const { sent, emulator, refusals, dispatched, receiver } = played
    const requests = name === 'duplicate' ? 2 * CALLBACKS : CALLBACKS
    expect(sent).toHaveLength(requests)
    expect(emulator.deliveries()).toHaveLength(requests)
    const isAccepted = accepted === 'yes' || accepted === 'by its authKey' || accepted === 'by its signature'
    // Of two, the repetition has it.
    expect(sent.filter(({ faults }) => faults.includes(name))).toHaveLength(CALLBACKS)
    for (const delivery of sent) {
      expect(delivery.faults).toEqual(delivery.faults.length === 0 && name === 'duplicate' ? [] : [name])
      expect(delivery).toMatchObject({ intact: isAccepted, sent: name !== 'drop' })
      if (accepted !== 'does not arrive') expect(delivery.status).toBe(isAccepted ? 204 : 401)
    }
    if (isAccepted) {
      await expectDispatchedOnce(played)
      await expect.poll(async () => (await receiver.stats()).accepted, POLL).toBe(requests)
      expect(refusals()).toEqual([])
    } else {
      if (accepted === 'no') await expect.poll(() => refusals().length, POLL).toBe(requests)
      expect(dispatched).toEqual([])
      expect((await receiver.stats()).accepted).toBe(0)
      const because: readonly ErrorCode[] = REFUSED_BECAUSE[name] ?? ['body_incomplete']
      for (const code of refusals()) expect(because).toContain(code)
    }
    ARRIVES[name](played)
  })
})

test('without an id and a time, what a customer does again is an event again', async () => {
  let nowMs = NOW_MS
  const { emulator, dispatched, receiver } = await playing(
    { faults: { noIdentity: 1 }, clock: () => nowMs },
    { kind: 'payment' },
  )
  for (const payload of [{ text: 'YES' }, { text: 'YES' }, { text: 'NO' }, { text: 'YES' }]) {
    await emulator.callback('payment', payload)
    nowMs += 1_000
  }
  expect(await receiver.drain({ deadlineMs: DEADLINE_MS })).toBe(true)
  expect(dispatched.map(({ payload }) => (payload as { readonly text: string }).text)).toEqual([
    'YES',
    'YES',
    'NO',
    'YES',
  ])
})
