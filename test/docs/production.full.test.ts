/** The app of the production checklist, run with the grants of the guide to Postgres: first without its database, then with it. */
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { describePostgres } from '../stores/postgres/schema.ts'
import { freePort } from '../support/free-port.ts'
import { appFolder, migratedDatabase, report, startApp } from './production-app.ts'

describePostgres('the app of the checklist', () => {
  test(
    'keeps a callback while its database is unavailable, and handles it afterwards',
    { timeout: 180_000 },
    async () => {
      const folder = await appFolder()
      const databaseUrl = await migratedDatabase(`mw_production_${process.pid}`)
      const spool = { SPOOL: join(folder, 'spool') }

      const nowhere = `postgres://app@127.0.0.1:${await freePort()}/app`
      const early = await startApp(folder, await freePort(), { ...spool, DATABASE_URL: nowhere })
      expect(await report(early.url, 'm-1')).toBe(204)
      expect((await fetch(`${early.url}/readyz`)).status).toBe(200)
      early.child.kill('SIGTERM')
      expect(await early.ended).toMatchObject({ code: 0, stdout: '' })

      const app = await startApp(folder, await freePort(), { ...spool, DATABASE_URL: databaseUrl })
      expect(await report(app.url, 'm-2')).toBe(204)
      await vi.waitFor(() => expect(app.lines().toSorted()).toEqual(['m-1 was delivered', 'm-2 was delivered']), {
        timeout: 30_000,
      })
      expect(await (await fetch(`${app.url}/metrics`)).text()).toContain('messaging_webhooks_callbacks_total')
      app.child.kill('SIGTERM')
      expect(await app.ended).toMatchObject({ code: 0, stderr: '' })
    },
  )
})
