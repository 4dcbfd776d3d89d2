/** Every vector of authentication, meaning and identity against its own receiver. */
import { createReceiver, type CredentialPair, type ErrorCode, type WebhookEvent } from 'messaging-webhooks'
import { expect, onTestFinished, test } from 'vitest'
import { taking, vectors, type IdentityVector, type NormalisationVector, type ProofVector } from '../support/vectors.ts'

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

test.each(vectors.normalisation)('$name', async (vector) => {
  const event = await eventOf(vector)
  expect(seen(event)).toEqual(vector.expected)
  if (event.type !== 'unrecognized') expect(event.payload).toEqual(payloadOf(vector))
})

async function eventOf(vector: NormalisationVector): Promise<WebhookEvent> {
  const { clock, networks } = vector
  const { receiver, dispatched, take } = taking({ clock: () => clock * 1_000, networks, ordering: { gapTimeoutMs: 0 } })
  await take(vector)
  await receiver.drain()
  expect(dispatched).toHaveLength(1)
  const [event] = dispatched
  if (event === undefined) throw new Error('Nothing was dispatched.')
  return event
}

/** Fields of every event, or of the request; this family is not about them. */
const LEFT_OUT = ['id', 'project', 'occurredAt', 'receivedAt', 'proof', 'payload', 'data', 'kind']

/** All other fields, as a vector writes them. */
function seen(event: WebhookEvent): object {
  const fields = Object.entries(event).filter(([name, value]) => !LEFT_OUT.includes(name) && value !== undefined)
  const anomalies = event.anomalies === undefined ? {} : { anomalies: event.anomalies.toSorted() }
  return { ...Object.fromEntries(fields), timestamp: event.timestamp ?? null, ...anomalies }
}

function payloadOf({ bodyBase64 }: NormalisationVector): unknown {
  const body: unknown = JSON.parse(Buffer.from(bodyBase64, 'base64').toString().replace('\uFEFF', ''))
  if (typeof body !== 'object' || body === null) return body
  return Object.fromEntries(Object.entries(body).filter(([name]) => name !== 'authKey'))
}

test.each(vectors.identity)('$name', async (vector) => {
  const { receiver, dispatched, take } = receiverFor(vector)
  const ids = new Set<string>()
  for (const group of vector.groups) {
    for (const callback of group) await take(callback)
    await receiver.drain()
    const [event, ...others] = dispatched.splice(0)
    expect(others).toEqual([])
    if (event !== undefined) ids.add(event.id)
  }
  expect(ids.size).toBe(vector.groups.length)
  expect(await receiver.stats()).toMatchObject({ duplicates: vector.groups.flat().length - vector.groups.length })
})

// Processes that share no memory find the same identity, unless it depends on the time of arrival.
test.each(vectors.identity.filter(({ groups }) => groups.flat().every(({ at }) => at === undefined)))(
  'on its own: $name',
  async (vector) => {
    const ids: (string | undefined)[] = []
    for (const callback of vector.groups.flat()) {
      const { receiver, dispatched, take } = receiverFor(vector)
      await take(callback)
      await receiver.drain()
      ids.push(dispatched[0]?.id)
    }
    expect(ids).not.toContain(undefined)
    const numbers = vector.groups.flatMap((group, number) => group.map(() => number))
    expect(ids.map((id) => ids.indexOf(id))).toEqual(numbers.map((number) => numbers.indexOf(number)))
  },
)

/** A receiver with a clock that each callback sets to its arrival. */
function receiverFor({ clock, groups }: IdentityVector) {
  let nowSeconds = Math.min(clock, ...groups.flat().map(({ at = clock }) => at))
  const { take, ...rest } = taking({ clock: () => nowSeconds * 1_000, ordering: { gapTimeoutMs: 0 } })
  return {
    ...rest,
    take(callback: IdentityVector['groups'][number][number]): Promise<void> {
      nowSeconds = callback.at ?? clock
      return take(callback)
    },
  }
}
