/** `inspect` as a process: access, the view of another process's store, and changes. */
import { createReceiver } from 'messaging-webhooks'
import { sqliteStore } from 'messaging-webhooks/sqlite'
import { callback, deliver } from 'messaging-webhooks/testing'
import { describe, expect, test } from 'vitest'
import { CREDENTIALS as credentials, KEYS, POLL, startCli } from './cli.ts'
import { ownFile } from '../support/own-folder.ts'
import { request, writeRaw } from '../support/wire.ts'

/** A file with one dead letter. */
async function fileWithDeadLetter(): Promise<string> {
  const path = ownFile()
  const receiver = createReceiver({ credentials, store: sqliteStore(path), retry: { attempts: 1 }, logger: false })
  receiver.on('message.failed', () => Promise.reject(new Error('no luck')))
  const body = callback.smsDelivery({ messageId: 'm-1', status: 'network_failure' })
  await deliver(receiver.middleware('status'), body, credentials)
  await receiver.drain()
  await receiver.close()
  return path
}

/** Starts it; resolves to the address that it prints. */
async function inspect(args: readonly string[]) {
  const running = startCli(['inspect', ...args], KEYS)
  const address = /http:\/\/127\.0\.0\.1:\d+\/\?token=[\w-]+/
  await expect.poll(() => address.exec(running.printed.stdout)?.[0], POLL).toBeDefined()
  const url = new URL(address.exec(running.printed.stdout)?.[0] ?? '')
  return { ...running, url }
}

/** Signs in as a browser does. */
async function enter(url: URL): Promise<string> {
  const response = await fetch(url, { redirect: 'manual' })
  expect([response.status, response.headers.get('location')]).toEqual([302, './'])
  const cookie = response.headers.get('set-cookie') ?? ''
  expect(cookie).toContain('; HttpOnly; SameSite=Strict')
  return cookie.split(';', 1)[0] ?? ''
}

async function statusUnder(host: string, url: URL, cookie: string): Promise<number> {
  const { status } = await request(new URL('/api/session', url).href, { method: 'GET', headers: { host, cookie } })
  return status
}

describe('inspect', { timeout: 180_000 }, () => {
  test('admits the first browser that opens its address, shows the store, and allows changes', async () => {
    const path = await fileWithDeadLetter()
    const { url, child, ended, printed } = await inspect(['--store', path, '--write'])
    const api = (name: string) => new URL(`/api/${name}`, url)
    expect((await fetch(api('session'))).status).toBe(403)
    expect((await fetch(new URL('/?token=guessed', url))).status).toBe(403)
    const cookie = await enter(url)
    expect((await fetch(url)).status).toBe(403)
    expect(await (await fetch(api('session'), { headers: { cookie } })).json()).toMatchObject({
      may: { write: true, reveal: false },
      storeAlone: true,
      store: { name: 'sqlite' },
    })
    const { items } = (await (await fetch(api('events'), { headers: { cookie } })).json()) as {
      readonly items: readonly { readonly id: string; readonly outcome: string }[]
    }
    expect(items).toMatchObject([{ messageId: 'm-1', outcome: 'dead' }])
    const replayed = await fetch(api('dead-letters/replay'), {
      method: 'POST',
      headers: { cookie, 'content-type': 'application/json', origin: url.origin },
      body: JSON.stringify({ ids: items.map(({ id }) => id) }),
    })
    expect(await replayed.json()).toMatchObject({ missing: [] })
    // It does not dispatch events itself.
    const again = await fetch(api('events?outcome=waiting'), { headers: { cookie } })
    expect(await again.json()).toMatchObject({ items: [{ messageId: 'm-1', outcome: 'waiting' }] })
    // A page of another origin whose host name resolves to this address.
    expect(await statusUnder('elsewhere.example', url, cookie)).toBe(421)
    expect(await statusUnder(`localhost:${url.port}`, url, cookie)).toBe(200)
    expect(printed.stderr).toContain('shortened')
    child.kill('SIGINT')
    expect(await ended).toMatchObject({ code: 0 })
  })
})

test('answers 400 to a request target that is not a URL, and keeps running', { timeout: 180_000 }, async () => {
  const { url, child, ended } = await inspect(['--store', await fileWithDeadLetter()])
  for (const target of ['//', 'http://', '/\\', '//[', 'http://[/'])
    expect(await writeRaw(url.href, `GET ${target} HTTP/1.1\r\nHost: ${url.host}\r\n\r\n`), target).toBe(400)
  const cookie = await enter(url)
  expect((await fetch(new URL('/api/session', url), { headers: { cookie } })).status).toBe(200)
  child.kill('SIGINT')
  expect((await ended).code).toBe(0)
})
