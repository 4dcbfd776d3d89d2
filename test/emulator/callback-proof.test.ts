/** The option `proof`: which of the two proofs callbacks carry, and how faults that need the other one behave. */
import type { ProofPolicy } from 'messaging-webhooks'
import type { EmulatorOptions, FaultName } from 'messaging-webhooks/emulator'
import { callback } from 'messaging-webhooks/testing'
import { expect, test } from 'vitest'
import { DEADLINE_MS, playing } from './playing.ts'

/** Sends a report by SMS and one by chat-app; resolves with the proofs of those that the receiver accepted. */
async function play(options: Omit<EmulatorOptions, 'projects'>, policy: ProofPolicy = 'either') {
  const { emulator, receiver, dispatched } = await playing(options, { proof: policy })
  // Time stands still, so no report may wait for an earlier one.
  const chat = callback.chatApp({ statuses: { status: 'sent' } })
  for (const payload of [callback.smsDelivery(), chat]) await emulator.callback('status', payload)
  expect(await receiver.drain({ deadlineMs: DEADLINE_MS })).toBe(true)
  return { proofs: dispatched.map(({ proof }) => proof), ...emulator.report() }
}

test('every callback carries both by default, and only the one that the option names', async () => {
  expect((await play({}, 'both')).proofs).toEqual(['both', 'both'])
  for (const proof of ['authKey', 'signature'] as const) expect((await play({ proof })).proofs).toEqual([proof, proof])
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
  const { proofs, faults, callbacks } = await play({ proof, faults: { [fault]: 1 } })
  if (accepts) {
    // The fault does not happen: it would change nothing, or take the only proof.
    expect(proofs).toEqual([proof, proof])
    expect({ faults, callbacks }).toMatchObject({ faults: {}, callbacks: { intact: 2, accepted: 2 } })
  } else {
    expect(proofs).toEqual([])
    expect(callbacks).toMatchObject({ sent: 2, intact: 0, refused: 2, rightlyRefused: 2, lost: 0 })
  }
})
