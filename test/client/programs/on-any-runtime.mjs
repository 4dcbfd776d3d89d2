/** The same sends on any runtime; a test compares `report`. Imports only the built package. */
import { createClient, SendError } from 'messaging-webhooks/client'

/** `urls`: the service, a server that resets after the request, and a port without a listener. */
export async function tryOut({ service, resetting, closed, apiKey }) {
  const options = { project: 'My Shop', apiKey, logger: false, retry: { attempts: 2, initialDelayMs: 1 } }
  const to = '999100000000'
  const report = {}
  const client = createClient({ ...options, baseUrl: service })
  const { kind, messages } = await client.send({ to: [to, '999400000012'], message: 'Grüße & 1 + 1' })
  report.send = [kind, messages.length]
  report.otp = (await createClient({ ...options, baseUrl: service }).otp({ to, message: 'Your code is 4711.' })).type
  const wrong = createClient({ ...options, baseUrl: service, apiKey: () => Promise.resolve('another') })
  report.wrong = await codeOf(wrong.send({ to, message: 'Hello' }))
  report.reset = await codeOf(createClient({ ...options, baseUrl: resetting }).send({ to, message: 'x' }))
  report.closed = await codeOf(createClient({ ...options, baseUrl: closed }).send({ to, message: 'x' }))
  report.timeout = await codeOf(
    createClient({ ...options, baseUrl: `${resetting}silent`, timeoutMs: 2_000 }).send({ to, message: 'x' }),
  )
  const all = await createClient({ ...options, baseUrl: service }).sendAll(
    { to: [to, '999100000000', '999400000012'], message: 'x' },
    { batch: 1 },
  )
  report.all = all.outcomes.map(({ outcome }) => outcome)
  // The receiver needs Node; other runtimes call one elsewhere.
  const recorded = []
  const receiver = {
    sends: {
      async intend({ reference }) {
        recorded.push(`pending ${reference}`)
        return { reference, sent: async ({ messages }) => void recorded.push(`sent ${messages.length}`) }
      },
      async intendEach() {},
    },
    async messageState() {},
  }
  const { send } = createClient({ ...options, baseUrl: service, receiver })
  const { reference } = await send({ to, message: 'x', reference: 'order 7' })
  report.recorded = [...recorded, reference]
  return report
}

async function codeOf(sending) {
  const error = await sending.then(
    () => undefined,
    (reason) => reason,
  )
  return error instanceof SendError ? `${error.code} ${error.attempts}` : String(error)
}
