/** Contract, service.md#project: a sender ID per project. #what-the-service-does: every OTP send is logged. */
import type { OtpEntry } from 'messaging-webhooks/emulator'
import { expect, test } from 'vitest'
import { fakeClock } from '../support/fake-clock.ts'
import { AT_ONCE, call, collecting, emulating, sendFrom, SHOP } from './emulating.ts'

const START_MS = 1_700_000_000_000
const OTP = { type: 'transactional' }

test('logs every OTP send with time, sender, recipient, message id and state, and no other send', async () => {
  const clock = fakeClock(START_MS)
  const network = { ...AT_ONCE, delayMs: [100, 100] as const }
  const { emulator, endpoint, url } = await emulating({ senderId: 'SHOP' }, { clock, network })
  await sendFrom(endpoint, { to: '999100000000', type: 'bulk' })
  const { body } = await sendFrom(endpoint, { to: ['+999100000000', '999400000012'], ...OTP })
  const { recipients } = body as { recipients: readonly { messageId: string }[] }
  const [first, second] = recipients.map(({ messageId }) => messageId)
  const about = { timestamp: START_MS / 1_000, sender: 'SHOP' }
  const refused = { ...about, recipient: '999400000012', messageId: second, deliveryState: 'unsupported_number' }
  const of = (deliveryState: string) => ({ ...about, recipient: '+999100000000', messageId: first, deliveryState })
  expect(emulator.otpLog()).toEqual([of('accepted'), refused])
  await clock.advance(100)
  // Without a callback URL: the service knows the state all the same.
  expect(emulator.otpLog()).toEqual([of('success'), refused])
  const page = await call(`${url}/control/otp-log?limit=1`)
  expect(page).toEqual({ status: 200, body: { items: [of('success')], next: 1 } })
})

test('a state is that of the latest report; one entry stands for all parts', async () => {
  const { callbackUrls } = await collecting()
  const { emulator, endpoint, idle } = await emulating({ callbackUrls })
  await sendFrom(endpoint, { to: '999110000001', message: 'x'.repeat(161), ...OTP })
  await sendFrom(endpoint, { to: '999100001001', ...OTP })
  await sendFrom(endpoint, { to: '999300000001', channel: 'chat-app', ...OTP })
  await sendFrom(endpoint, { to: '999400000011', ...OTP })
  await idle()
  expect(emulator.otpLog().map(({ deliveryState }) => deliveryState)).toEqual([
    'success',
    'network_failure',
    'read',
    'accepted',
  ])
})

test('a wholly refused OTP send is logged on every channel, one that is not authenticated is not', async () => {
  const { emulator, endpoint } = await emulating({ balance: 0 })
  for (const channel of ['sms', 'chat-app', 'airtime'])
    expect((await sendFrom(endpoint, { to: '999100000000', channel, amount: 1, ...OTP })).status).toBe(400)
  await sendFrom(endpoint, { to: '999100000000', ...OTP, apiKey: 'wrong' })
  expect(emulator.otpLog().map(({ deliveryState }) => deliveryState)).toEqual(Array(3).fill('insufficient_balance'))
})

test('the sender is `from`, or the sender ID of the project at that time', async () => {
  const { emulator, endpoint } = await emulating()
  const send = (fields: object) => sendFrom(endpoint, { to: '999100000000', ...OTP, ...fields })
  await send({})
  await send({ from: 'MINE' })
  emulator.configure({ senderId: 'SHOP' })
  await send({ from: '' })
  await send({ type: 'bulk' })
  await send({ apiKey: 'wrong' })
  expect(emulator.otpLog().map(({ sender }) => sender)).toEqual(['EMULATOR', 'MINE', 'SHOP'])
  expect(emulator.sends().map(({ sender }) => sender)).toEqual(['EMULATOR', 'MINE', 'SHOP', 'SHOP', undefined])
  expect(emulator.projects()).toMatchObject([{ name: SHOP, senderId: 'SHOP' }])
})

test('listeners receive each entry and each new state; the log is as long as `keep`', async () => {
  const { emulator, endpoint, idle } = await emulating({}, { keep: 2 })
  const seen: OtpEntry[] = []
  emulator.onActivity((activity) => {
    if (activity.type === 'otp') seen.push(activity.entry)
  })
  for (let sent = 0; sent < 3; sent += 1) {
    await sendFrom(endpoint, { to: '999100000000', message: '123456', ...OTP })
    await idle()
  }
  expect(seen.map(({ deliveryState }) => deliveryState)).toEqual(Array(3).fill(['accepted', 'success']).flat())
  expect(emulator.otpLog()).toEqual([seen[3], seen[5]])
  // Contract: the log has no text.
  expect(JSON.stringify(seen)).not.toContain('123456')
})
