/** Authentication: every proof vector against its own receiver. */
import { createReceiver, type CredentialPair, type ErrorCode, type WebhookEvent } from 'messaging-webhooks'
import { vectors, type ProofVector } from 'messaging-webhooks/vectors'
import { expect, onTestFinished, test } from 'vitest'

test.each(vectors.proof)('$name', async (vector) => {
  expect(await verdictOf(vector)).toEqual(vector.expected)
})

test('each policy meets each state of both proofs', () => {
  const cells = vectors.proof.filter(({ name }) => name.startsWith('policy '))
  expect(new Set(cells.map(({ policy }) => policy)).size).toBe(4)
  expect(cells).toHaveLength(4 * 5 * 3)
})

/** The result of a receiver, as a vector writes it. */
async function verdictOf({ clock, policy, pairs, headers, bodyBase64 }: ProofVector): Promise<object> {
  const receiver = createReceiver({ logger: false, clock: () => Math.round(clock * 1_000), ...credentialsOf(pairs) })
  const events: WebhookEvent[] = []
  const codes: ErrorCode[] = []
  receiver.onAny((event) => void events.push(event))
  receiver.onError(({ code }) => void codes.push(code))
  onTestFinished(() => receiver.close({ deadlineMs: 100 }))
  const { status } = await receiver.receive({
    kind: 'status',
    proof: policy,
    method: 'POST',
    headers: headers.map(([name, value]): [string, string] => [name, Buffer.from(value, 'base64').toString('latin1')]),
    body: Buffer.from(bodyBase64, 'base64'),
  })
  await receiver.drain()
  const [event] = events
  const [code] = codes
  if (event === undefined)
    return { verdict: 'refused', reason: code, ...([401, 415].includes(status) ? {} : { status }) }
  const { proof, project = null } = event
  return { verdict: 'accepted', proof, project, ...(code === undefined ? {} : { reported: code }) }
}

/** As options: pairs of projects, or of one unnamed project. */
function credentialsOf(pairs: ProofVector['pairs']) {
  const projects: Record<string, CredentialPair[]> = {}
  const credentials: CredentialPair[] = []
  for (const { project, ...pair } of pairs)
    (project === undefined ? credentials : (projects[project] ??= [])).push(pair)
  return credentials.length > 0 ? { credentials } : { projects }
}
