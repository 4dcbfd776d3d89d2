/** The first word of each network that is read without knowing its carrier is reported. */
import { callback } from 'messaging-webhooks/testing'
import { expect, test } from 'vitest'
import { logging } from '../support/logging.ts'
import { post, receiving } from '../support/receiving.ts'

const report = (network: string | undefined, status: string | undefined, statusCode?: number) =>
  callback.smsDelivery({ messageId: crypto.randomUUID(), network, status, statusCode })

test('reports the first guessed word of a network once, with its name and the option', async () => {
  const { logger, of } = logging()
  const { url, errors } = await receiving({ networks: { known: 'carrierB' }, logger })
  // A word of carrier B or of the code table: sending again may be wrong.
  for (const status of ['expired', 'queued', 'REJECTED BY HANDSET']) await post(url, report('carrier-b', status))
  await post(url, report('other "network"', 'OUT_OF_CREDIT'))
  expect(errors.map(({ code, detail }) => [code, detail])).toEqual([
    ['word_guessed', 'The network is "carrier-b".'],
    ['word_guessed', 'The network is "other \\"network\\"".'],
  ])
  expect(of('word_guessed')).toMatchObject([{ level: 'warn' }, { level: 'warn' }])
  expect(of('word_guessed')[0]?.text).toContain('`networks`')
})

test.each<readonly [what: string, body: object]>([
  ['a network in `networks`', report('known', 'expired')],
  ['a word of one carrier alone', report('new', 'success')],
  ['a word and its own code', report('new', 'expired', 17)],
  ['a code alone', report('new', undefined, 17)],
  ['an unknown word with a code, which decides', report('new', 'HELD', 15)],
  ['no network, which the option could not list', report(undefined, 'HELD')],
  ['a chat-app report', { ...callback.chatApp({ statuses: { message_id: 'c', status: 'read' } }), network: 'new' }],
])('reports nothing for %s', async (_, body) => {
  const { url, errors } = await receiving({ networks: { known: 'carrierB' } })
  expect((await post(url, body)).status).toBe(204)
  expect(errors).toEqual([])
})

test('reports at most a hundred networks: the sender chooses their names', async () => {
  const { url, errors } = await receiving()
  for (let count = 0; count < 110; count += 1) await post(url, report(`network-${count}`, 'HELD'))
  expect(errors).toHaveLength(100)
})
