/** The privileges that an account needs: without one of them, opening the store fails and names it. */
import type { MessagingWebhooksError } from 'messaging-webhooks'
import { migrateMysql, mysqlStore } from 'messaging-webhooks/mysql'
import { expect, onTestFinished, test } from 'vitest'
import { admit, claim, eventOf, hostOf, opened, settleAll } from '../postgres/events.ts'
import { describeMysql, freshPrefix, MYSQL_URL, newPrefix, rowsOf } from './database.ts'

const TIMEOUT = { timeout: 60_000 }
const DATABASE = new URL(MYSQL_URL || 'mysql://127.0.0.1/test').pathname.slice(1)

/** The URL of an account with these privileges. */
async function accountWith(...privileges: readonly string[]): Promise<string> {
  const name = `${newPrefix()}_app`
  await rowsOf(`CREATE USER ${name}@'%' IDENTIFIED BY 'of-the-account'`)
  onTestFinished(async () => {
    await rowsOf(`DROP USER ${name}@'%'`)
  })
  for (const privilege of privileges) await rowsOf(`GRANT ${privilege} TO ${name}@'%'`)
  const url = new URL(MYSQL_URL)
  url.username = name
  url.password = 'of-the-account'
  return url.href
}

async function migrated(): Promise<string> {
  const prefix = freshPrefix()
  await migrateMysql({ uri: MYSQL_URL, prefix })
  return prefix
}

const TABLES = ['migrations', 'records', 'payloads', 'dead_letters', 'workers']

function grantsOn(prefix: string, privileges: string, tables = TABLES): readonly string[] {
  return tables.map((table) => `${privileges} ON ${DATABASE}.\`${prefix}_${table}\``)
}

describeMysql('privileges', () => {
  test('SELECT, INSERT, UPDATE and DELETE on the tables are enough', TIMEOUT, async () => {
    const prefix = await migrated()
    const uri = await accountWith(...grantsOn(prefix, 'SELECT, INSERT, UPDATE, DELETE'))
    const open = await opened(mysqlStore({ uri, prefix }))
    await admit(open, [eventOf('m')])
    expect(await settleAll(open, await claim(open))).toEqual([true])
    await open.due({ of: 'retention', limit: 10 })
    expect(await open.run([{ do: 'expire', key: eventOf('m').messageKey }])).toEqual(['kept'])
    expect(await open.counts()).toEqual({ unsettled: 0, deadLetters: 0 })
  })

  test.each([
    ['SELECT', 'records'],
    ['INSERT', 'payloads'],
    ['UPDATE', 'records'],
    ['DELETE', 'payloads'],
    ['DELETE', 'dead_letters'],
    ['UPDATE', 'workers'],
  ])('without %s on %s', TIMEOUT, async (privilege, table) => {
    const prefix = await migrated()
    const all = ['SELECT', 'INSERT', 'UPDATE', 'DELETE']
    const uri = await accountWith(
      ...grantsOn(
        prefix,
        all.join(', '),
        TABLES.filter((each) => each !== table),
      ),
      ...grantsOn(prefix, all.filter((each) => each !== privilege).join(', '), [table]),
    )
    const lacking = {
      code: 'store_forbidden',
      cause: { message: expect.stringMatching(new RegExp(`${privilege}\\b.* denied .*${prefix}_${table}`)) as string },
    }
    const store = mysqlStore({ uri, prefix, maxConnections: 2 })
    await expect(Promise.resolve(store.open(hostOf()))).rejects.toMatchObject(lacking)
    const reports: MessagingWebhooksError[] = []
    const open = await store.open(hostOf({ claims: false, report: (error) => void reports.push(error) }))
    await open.close()
    expect(reports).toMatchObject([lacking])
  })

  test('without CREATE and without tables', TIMEOUT, async () => {
    const prefix = freshPrefix()
    const uri = await accountWith(`SELECT, INSERT, UPDATE, DELETE ON ${DATABASE}.*`)
    await expect(Promise.resolve(mysqlStore({ uri, prefix }).open(hostOf()))).rejects.toMatchObject({
      code: 'store_unmigrated',
      cause: { message: expect.stringMatching(/CREATE .*denied/) as string },
    })
  })
})
