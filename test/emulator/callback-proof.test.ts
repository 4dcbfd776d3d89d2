/** The option `proof`: which of the two proofs callbacks carry, and how faults that need the other one behave. */
import type { EventProof, ProofPolicy, WebhookEvent } from 'messaging-webhooks'
import type { EmulatorOptions, FaultName } from 'messaging-webhooks/emulator'
import { expect, test } from 'vitest'
import { receiving } from '../support/receiving.ts'
import { emulating, sendFrom } from './emulating.ts'

const SENT = '999300000004'
const DELIVERED = '999100000000'

async function playing(options: Omit<EmulatorOptions, 'projects'>, policy: ProofPolicy = 'either') {
  const status = await receiving({}, { kind: 'status', proof: policy })
  const received = await receiving({}, { kind: 'received', proof: policy })
  const proofs = new Map<string, EventProof>()
  const collect = (event: WebhookEvent): void =>
    void proofs.set('channel' in event ? event.channel : event.type, event.proof)
  for (const { receiver } of [status, received]) receiver.onAny(collect)
  const emulating_ = await emulating({ callbackUrls: { status: status.url, received: received.url } }, options)
  return {
    ...emulating_,
    async play() {
      const { emulator, endpoint, idle } = emulating_
      await sendFrom(endpoint, { to: SENT, channel: 'chat-app' })
      await sendFrom(endpoint, { to: DELIVERED })
      await emulator.trigger('received')
      await idle()
      for (const { receiver } of [status, received]) expect(await receiver.drain({ deadlineMs: 60_000 })).toBe(true)
      return Object.fromEntries(proofs)
    },
  }
}

test('every callback carries both by default, including those of the chat-app', async () => {
  const { play } = await playing({}, 'both')
  expect(await play()).toEqual({ 'chat-app': 'both', sms: 'both', received: 'both' })
})

test.each(['authKey', 'signature'] as const)('for all of them: %s', async (proof) => {
  const { play } = await playing({ proof })
  expect(await play()).toEqual({ 'chat-app': proof, sms: proof, received: proof })
})

test.each<readonly [proof: 'authKey' | 'signature', fault: FaultName, accepts: boolean]>([
  ['authKey', 'staleSignature', true],
  ['authKey', 'tamperedByte', true],
  ['authKey', 'noSignature', true],
  ['authKey', 'noAuthKey', true],
  ['signature', 'noSignature', true],
  ['signature', 'noAuthKey', true],
  ['authKey', 'oldKey', false],
  ['signature', 'oldKey', false],
  ['signature', 'tamperedByte', false],
])('with %s as the only proof, under %s a callback is accepted: %j', async (proof, fault, accepts) => {
  const { play, emulator } = await playing({ proof, faults: { [fault]: 1 } })
  const proofs = Object.values(await play())
  const { faults, callbacks } = emulator.report()
  if (accepts) {
    expect(proofs).toEqual([proof, proof, proof])
    expect({ faults, callbacks }).toMatchObject({ faults: {}, callbacks: { intact: 3, accepted: 3 } })
  } else {
    expect(proofs).toEqual([])
    expect(callbacks).toMatchObject({ sent: 3, intact: 0, refused: 3, rightlyRefused: 3, lost: 0 })
  }
})
