/** `max_allowed_packet` of the server: batches are split, and an event that does not fit affects no other. */
import { mysqlStore } from 'messaging-webhooks/mysql'
import { callback } from 'messaging-webhooks/testing'
import { expect, onTestFinished, test } from 'vitest'
import { ownFolder } from '../../support/own-folder.ts'
import { post, receiving } from '../../support/receiving.ts'
import { admit, claim, eventOf, observer, settleAll } from '../postgres/events.ts'
import { describeMysql, freshPrefix, MYSQL_URL, rowsOf } from './database.ts'

const POLL = { timeout: 30_000 }
const TIMEOUT = { timeout: 60_000 }
const SMALL = 65_536
const USUAL = 16 * 2 ** 20

/** For new connections. */
async function limitPackets(bytes: number): Promise<void> {
  await rowsOf(`SET GLOBAL max_allowed_packet = ${bytes}`)
}

function packetsOf(bytes: number): Promise<void> {
  onTestFinished(() => limitPackets(USUAL))
  return limitPackets(bytes)
}

const opened = () => observer(mysqlStore({ uri: MYSQL_URL, prefix: freshPrefix(), maxConnections: 2 }))

/** Ends the connections of the store. */
async function cutConnections(): Promise<void> {
  const others = await rowsOf(
    `SELECT id FROM information_schema.processlist WHERE id <> CONNECTION_ID() AND user = 'app' AND command = 'Sleep'`,
  )
  for (const { id } of others) await rowsOf(`KILL ${String(id)}`)
}

/** A receiver on a new store, and the messages that its handler received. */
async function receivingOn(prefix: string, spool: string) {
  const store = mysqlStore({ uri: MYSQL_URL, prefix, maxConnections: 2, pollIntervalMs: 200 })
  const { receiver, url, errors } = await receiving({ store, spool })
  const messages: string[] = []
  receiver.on('message.*', ({ messageId }) => void messages.push(messageId))
  await receiver.start()
  return { receiver, url, messages, causes: () => errors.map(({ code, cause }) => `${code}: ${String(cause)}`) }
}

describeMysql('max_allowed_packet', () => {
  test('splits a batch that is larger', TIMEOUT, async () => {
    await packetsOf(SMALL)
    const open = await opened()
    const raw = Buffer.alloc(20_000, 0xff)
    const events = Array.from({ length: 10 }, (_, index) => eventOf(`m${index}`, 1, raw))
    expect(new Set(await admit(open, events))).toEqual(new Set(['new']))
    const claims = await claim(open)
    expect(claims.filter((each) => raw.equals(each.raw))).toHaveLength(events.length)
    expect(new Set(await settleAll(open, claims))).toEqual(new Set([true]))
  })

  test('follows the limit of the server that each new connection reaches', TIMEOUT, async () => {
    const open = await opened()
    const sized = (message: string, bytes: number) => eventOf(message, 1, Buffer.alloc(bytes, 0xff))
    expect(await admit(open, [sized('large', 100_000)])).toEqual(['new'])
    await packetsOf(SMALL)
    await cutConnections()
    // The pool may hand out a cut connection before it notices the cut.
    const others = [sized('first', 20_000), sized('second', 20_000)]
    await expect.poll(() => admit(open, others), POLL).toEqual(['new', 'new'])
    // What is stored is larger than the new limit.
    const claims = await claim(open)
    expect(claims.map(({ raw }) => raw.length)).toEqual([100_000, 20_000, 20_000])
    expect(await settleAll(open, claims)).toEqual([true, true, true])
  })

  const SIZES = [10, 20_000, 20_000, 200_000, 20_000, 20_000, 10]
  const OTHERS = ['m0', 'm1', 'm2', 'm4', 'm5', 'm6']
  const REASON =
    /Error: The event needs a packet of 26\d,\d{3} bytes; the server accepts 65,536\. Raise its max_allowed_packet/

  async function postAll(url: string) {
    return Promise.all(
      SIZES.map(async (size, index) => {
        const report = callback.smsDelivery({ messageId: `m${index}` })
        return (await post(url, { ...report, note: 'x'.repeat(size) })).status
      }),
    )
  }

  test('keeps a callback that does not fit in the spool until the limit is raised', TIMEOUT, async () => {
    await packetsOf(SMALL)
    const [prefix, spool] = [freshPrefix(), ownFolder()]
    const small = await receivingOn(prefix, spool)
    expect(await postAll(small.url)).toEqual(SIZES.map(() => 204))
    await expect.poll(() => small.messages.toSorted(), POLL).toEqual(OTHERS)
    await expect.poll(small.causes, POLL).toContainEqual(expect.stringMatching(/^event_refused: /))
    for (const cause of small.causes()) expect(cause).toMatch(REASON)
    await small.receiver.close()

    await limitPackets(USUAL)
    const usual = await receivingOn(prefix, spool)
    await expect.poll(() => usual.messages, POLL).toEqual(['m3'])
  })
})
