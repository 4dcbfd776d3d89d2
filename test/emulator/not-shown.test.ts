/** The table of what the service does not show lists what the emulator answers and posts beyond the documentation. */
import { NOT_SHOWN, TRIGGER_NAMES } from 'messaging-webhooks/emulator'
import { callback } from 'messaging-webhooks/testing'
import { expect, test } from 'vitest'
import { collecting, emulating, sendFrom } from './emulating.ts'

const LISTED = NOT_SHOWN.map(({ choice }) => choice).join('\n')
const DELIVERED = '999100000000'

/** By hand from the contract: the texts, and the fields of the two delivery callbacks. */
const DOCUMENTED_TEXT = 'Error. Insufficient balance. Top up and try again.'
const DOCUMENTED_FIELDS =
  'project messageId channel status statusCode network type timestamp authKey phone_number statuses'.split(' ')

test('the text of every refusal', async () => {
  const { emulator, endpoint } = await emulating({ volumeLimit: 0, balance: 1 })
  await sendFrom(endpoint, { to: '12' })
  await sendFrom(endpoint, { to: DELIVERED })
  await sendFrom(endpoint, { to: [] })
  await sendFrom(endpoint, { to: DELIVERED, channel: 'pigeon' })
  await sendFrom(endpoint, { to: DELIVERED, message: 'x'.repeat(1_100_000) })
  emulator.configure({ balance: 0 })
  await sendFrom(endpoint, { to: DELIVERED })
  const texts = Object.keys(emulator.report().sends.refusals)
  expect(texts).toHaveLength(6)
  // The words before the field differ from request to request.
  const own = texts.filter((text) => text !== DOCUMENTED_TEXT).map((text) => text.split(' The ')[0] ?? '')
  for (const text of own) expect(LISTED).toContain(text)
})

test('the values of reports that the documentation leaves open', async () => {
  const { collected, callbackUrls } = await collecting()
  const { emulator, endpoint, idle } = await emulating({ callbackUrls })
  await sendFrom(endpoint, { to: DELIVERED, type: 'transactional' })
  await sendFrom(endpoint, { to: '999200000002' })
  await sendFrom(endpoint, { to: '999300000001', channel: 'chat-app' })
  await idle()
  const { type } = collected.map(({ body }) => body).find(({ status }) => status === 'success') ?? {}
  const { description, status_code: code } =
    collected.map(({ body }) => body).find(({ status }) => status === 'do_not_disturb') ?? {}
  const statuses = collected.map(({ body }) => body['statuses']).find((one) => one !== undefined)
  const { category } = statuses as { category: string }
  const sender = emulator.otpLog()[0]?.sender
  for (const value of [type, description, code, category, sender]) expect(LISTED).toContain(`\`${value as string}\``)
})

test('every field of a payload that the documentation does not show, here and in the testing kit', async () => {
  const { collected, callbackUrls } = await collecting()
  const { emulator, endpoint, idle } = await emulating({ callbackUrls })
  for (const name of TRIGGER_NAMES) await emulator.trigger(name)
  for (const channel of ['premium', 'airtime']) await sendFrom(endpoint, { to: DELIVERED, channel, amount: 1 })
  await idle()
  const kit = [callback.received(), callback.payment(), callback.subscription()]
  const fields = new Set([...collected.map(({ body }) => body), ...kit].flatMap((body) => Object.keys(body)))
  expect(fields.size).toBeGreaterThan(15)
  for (const field of fields) if (!DOCUMENTED_FIELDS.includes(field)) expect(LISTED).toContain(`\`${field}\``)
})
