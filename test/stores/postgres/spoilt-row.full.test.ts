/** One spoilt row stops nobody: what users see of it. */
import { postgresStore } from 'messaging-webhooks/postgres'
import { callback } from 'messaging-webhooks/testing'
import { expect, test } from 'vitest'
import { post, receiving } from '../../support/receiving.ts'
import { describePostgres, freshSchema, onServer, POSTGRES_URL } from './schema.ts'

const POLL = { timeout: 60_000 }
const PATIENT = { timeout: 120_000 }
const DUE = 200
const NEW = 100
const MARKER = 'what-no-report-may-quote'
const SPOILT = `"spoilt ${MARKER}`

describePostgres('a spoilt row', () => {
  for (const transactional of [false, true])
    test(
      `one of 200 spoilt while running stops neither them nor what comes${transactional ? ', with transactions' : ''}`,
      PATIENT,
      async () => {
        const schema = freshSchema()
        const store = postgresStore({ connectionString: POSTGRES_URL, schema, transactional, pollIntervalMs: 500 })
        const { receiver, url, errors } = await receiving({ store, concurrency: 5 })
        const handled: string[] = []
        let open = (): void => {}
        const gate = new Promise<void>((resolve) => (open = resolve))
        receiver.on('message.*', async (event) => {
          await gate
          handled.push(event.messageId)
        })
        await receiver.start()
        const due = Array.from({ length: DUE }, (_, at) => `due ${at}`)
        for (const messageId of due) expect((await post(url, callback.smsDelivery({ messageId }))).status).toBe(204)
        // Five are in hand; of the others, one is spoilt.
        const id = await onServer(async (client) => {
          const { rows } = await client.query<{ id: string }>(`
            UPDATE "${schema}".payloads SET event = convert_to('${SPOILT}', 'UTF8') WHERE record = (
              SELECT record FROM "${schema}".due WHERE worker IS NULL ORDER BY at OFFSET 50 LIMIT 1
            ) RETURNING encode(id, 'hex') AS id`)
          return rows[0]?.id
        })
        open()
        const later = Array.from({ length: NEW }, (_, at) => `new ${at}`)
        const answers = await Promise.all(later.map((messageId) => post(url, callback.smsDelivery({ messageId }))))
        expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([204]))

        await expect.poll(() => receiver.stats(), POLL).toMatchObject({ unsettled: 0, deadLetters: 1 })
        expect(new Set(handled).size).toBe(DUE + NEW - 1)
        expect(handled.length).toBe(DUE + NEW - 1)
        expect(errors.map(({ code }) => code)).toEqual(['event_damaged'])
        expect(errors[0]?.message).toContain(id)
        expect(String(errors[0]?.stack)).not.toContain(MARKER)
        const { items } = await receiver.deadLetters.list()
        expect(items.map((letter) => [letter.id, letter.event.type])).toEqual([[id, 'unrecognized']])
        expect(items[0]?.event.raw.length).toBeGreaterThan(0)
        // It is what it is: tried again, it is as dead as before.
        expect(await receiver.deadLetters.replay(id ?? '')).toBe(true)
        await expect.poll(() => errors.length, POLL).toBe(2)
        // It is reported before that is written.
        await expect.poll(() => receiver.stats(), POLL).toMatchObject({ unsettled: 0, deadLetters: 1 })
      },
    )
})
