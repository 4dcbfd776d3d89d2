/** Each view of the inspector, in a real browser: accessible, safe with any text of a sender, under any mount. */
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startCli } from '../../cli/cli.ts'
import { titleWith } from '../../support/skipping.ts'
import { launchBrowser, noBrowser } from '../chromium.ts'
import { DESK, faultsOf, openPage, PHONE } from '../watching.ts'
import { behindProxy, inspectedApp, sqliteStore } from './app.ts'
import { ownFile } from '../../support/own-folder.ts'

const HOSTILE = '<script>alert(1)</script><img src=x onerror="alert(2)">'
const RECIPIENT = '999300000042'
const CUSTOMER = '254711000042'

const reason = noBrowser()

describe.skipIf(reason !== undefined)(titleWith(reason, 'the views of the inspector'), () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await launchBrowser()
  })
  afterAll(() => browser.close())

  /** An app with events of every kind; a failure is a dead letter at once. */
  async function usedApp(path = ownFile()) {
    const app = await inspectedApp({
      store: sqliteStore(path),
      retry: { attempts: 1 },
      ordering: { gapTimeoutMs: 0 },
    })
    app.receiver.on('message.failed', function bookIt() {
      throw new Error(`The ledger is closed. ${HOSTILE}`)
    })
    const now = Math.floor(Date.now() / 1_000)
    await app.reportChat('chat-1', 'delivered', RECIPIENT, now - 10)
    await app.receiver.drain()
    await app.reportChat('chat-1', 'sent', RECIPIENT, now - 20)
    await app.reportChat('chat-1', 'read', RECIPIENT, now)
    await app.reportChat('chat-1', 'read', RECIPIENT, now)
    await app.reportSms('sms-1', 'delivery_impossible')
    await app.emulator.trigger('received', { text: HOSTILE, amount: 1 })
    app.usePair({ authKey: 'another', signingSecret: 'another' })
    await app.reportSms('sms-2', 'success')
    app.usePair({})
    await app.receiver.drain()
    await app.receiver.sends.expect(
      { channel: 'sms', messages: ['sms-1', 'sms-3'].map((messageId) => ({ messageId, to: CUSTOMER })) },
      { project: 'My Shop' },
    )
    return app
  }

  test('every view, light and dark, at the width of a desktop and of a phone', async () => {
    const app = await usedApp()
    const { items } = await app.receiver.deadLetters.list()
    const views = [
      ['overview', 'Overview'],
      ['events', 'Events'],
      [`events?q=${CUSTOMER}`, 'Events'],
      ['message/chat-1?project=My+Shop', 'Message'],
      [`event/${encodeURIComponent(items[0]?.id ?? '')}`, 'Event'],
      ['dead-letters', 'Dead letters'],
      ['quarantine', 'Quarantine'],
    ] as const
    for (const colorScheme of ['light', 'dark'] as const) {
      const { page, complaints } = await openPage(browser, app.origin, { colorScheme, reducedMotion: 'reduce' })
      for (const [view, title] of views) {
        await page.setViewportSize(DESK)
        await page.goto(`${app.url}#/${view}`)
        await page.getByRole('heading', { level: 1, name: title }).waitFor()
        await page.locator('.waiting').waitFor({ state: 'detached' })
        complaints.push(...(await faultsOf(page)).map((fault) => `${view}, ${colorScheme}, on a desk: ${fault}`))
        await page.setViewportSize(PHONE)
        complaints.push(...(await faultsOf(page)).map((fault) => `${view}, ${colorScheme}, on a phone: ${fault}`))
      }
      expect(complaints).toEqual([])
    }
  })

  test('the overview counts events, and links to them', async () => {
    const app = await usedApp()
    const { page, complaints } = await openPage(browser, app.origin)
    await page.goto(app.url)
    const tile = (name: string) => page.locator('.tile', { hasText: name }).locator('b')
    await expect.poll(() => tile('Accepted').textContent()).toBe('6')
    expect(await tile('Duplicates').textContent()).toBe('1')
    expect(await tile('Late').textContent()).toBe('1')
    expect(await tile('Refused').textContent()).toBe('1')
    expect(
      await page.getByRole('img', { name: /New 4, Late 1, Duplicate 1, Failed attempt 1, Refused 1/ }).count(),
    ).toBe(1)
    await page.getByRole('link', { name: 'message.failed' }).click()
    await expect.poll(() => page.url()).toMatch(/#\/events\?type=message\.failed$/)
    await expect.poll(() => page.locator('tbody tr').count()).toBe(1)
    // A bar links to the events it counts, and the address has the range.
    await page.goto(`${app.url}#/overview`)
    await page.getByRole('link', { name: '24 h' }).click()
    await page.getByText('per 8 min').waitFor()
    expect(page.url()).toContain('range=24h')
    await page.locator('.plot svg g').last().click()
    await expect.poll(() => page.url()).toMatch(/#\/events\?from=.*&to=/)
    await page.goBack()
    await page.getByText('As a table').click()
    await page.locator('table.plain a').first().click()
    await expect.poll(() => page.url()).toMatch(/#\/events\?from=.*&to=/)
    await expect.poll(() => page.locator('tbody tr').count()).toBe(5)
    expect(complaints).toEqual([])
  })

  test('filters and searches are in the address; back and forward navigate them', async () => {
    const app = await usedApp()
    const { page, complaints } = await openPage(browser, app.origin)
    const rows = page.locator('tbody tr')
    await page.goto(`${app.url}#/events`)
    await expect.poll(() => rows.count()).toBe(5)
    await page.getByLabel('Outcome').selectOption('Dead letter')
    await expect.poll(() => rows.count()).toBe(1)
    expect(page.url()).toContain('outcome=dead')
    await page.goBack()
    await expect.poll(() => rows.count()).toBe(5)
    await page.getByRole('searchbox').fill(RECIPIENT)
    await page.keyboard.press('Enter')
    await expect.poll(() => rows.count()).toBe(3)
    // The id of a message opens its timeline; back leads to the search before.
    await page.getByRole('searchbox').fill('chat-1')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Message chat-1' }).waitFor()
    await page.goBack()
    await expect.poll(() => rows.count()).toBe(3)
    // Reports of an SMS do not name its recipient.
    await page.getByRole('searchbox').fill(`+${CUSTOMER}`)
    await page.keyboard.press('Enter')
    await expect.poll(() => rows.count()).toBe(2)
    expect(await rows.filter({ hasText: 'sms-1' }).textContent()).toContain('message.failed')
    expect(await rows.filter({ hasText: 'sms-3' }).textContent()).toContain('Awaited')
    await page.getByRole('link', { name: 'sms-3' }).click()
    await page.getByRole('heading', { name: 'Message sms-3' }).waitFor()
    await page.getByRole('searchbox').fill('unknown-message')
    await page.keyboard.press('Enter')
    await page.getByText('No event or message found for “unknown-message”.').waitFor()
    // A shared link.
    const other = await openPage(browser, app.origin)
    await other.page.goto(`${app.url}#/events?type=received`)
    await expect.poll(() => other.page.locator('tbody tr').count()).toBe(1)
    expect([...complaints, ...other.complaints]).toEqual([])
  })

  test('a timeline shows the order of arrival, late and repeated reports, and attempts', async () => {
    const app = await usedApp()
    const { page, complaints } = await openPage(browser, app.origin)
    await page.goto(`${app.url}#/message/chat-1?project=My+Shop`)
    const entries = page.locator('.timeline > li')
    await expect.poll(() => entries.count()).toBe(3)
    const types = () => entries.locator('h2 a').allTextContents()
    expect(await types()).toEqual(['late', 'message.delivered', 'message.read'])
    expect(await entries.nth(0).textContent()).toContain('1 in order, 2 by arrival')
    await page.getByText('ordered by step').waitFor()
    expect(await entries.nth(2).textContent()).toContain('received 2 times')
    await page.goto(`${app.url}#/message/sms-1?project=My+Shop`)
    const attempt = page.locator('.attempts > li').first()
    await attempt.getByText('bookIt', { exact: true }).waitFor()
    expect(await attempt.textContent()).toMatch(/Attempt 1 failed.*The ledger is closed/)
    expect(complaints).toEqual([])
  })

  test('the page of a message leads to what comes next: replay, verify again, and the resend', async () => {
    const app = await usedApp()
    const { page, complaints } = await openPage(browser, app.origin)
    const steps = page.getByRole('region', { name: 'Next steps' })
    await page.goto(`${app.url}#/message/sms-1?project=My+Shop`)
    await steps.getByText('The ledger is closed.').waitFor()
    await steps.getByRole('link', { name: 'Show', exact: true }).click()
    await page.getByRole('heading', { name: 'Payload' }).waitFor()
    await page.goBack()
    await steps.getByRole('button', { name: 'Replay 1 dead letter of sms-1' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Replay', exact: true }).click()
    await page.getByRole('main').getByText('Will run again: 1 event.').waitFor()
    // The search leads to the refused requests, and so does the page of their message.
    await page.getByRole('searchbox').fill('sms-2')
    await page.keyboard.press('Enter')
    await page.getByRole('region', { name: 'Refused' }).getByText('1 refused request names it').waitFor()
    await page.goto(`${app.url}#/message/sms-2`)
    await page.getByText('No report has been accepted and read.').waitFor()
    await steps.getByRole('link', { name: 'Show and verify again' }).click()
    await page.getByText('Requests about “sms-2”.').waitFor()
    await expect.poll(() => page.locator('tbody tr').count()).toBe(1)
    expect(await page.locator('tbody tr').textContent()).toMatch(/\d+\u00a0B/)
    await page.getByRole('button', { name: 'Verify again' }).waitFor()
    await page.locator('tbody').getByRole('link', { name: 'sms-2' }).click()
    await page.getByRole('heading', { name: 'Message sms-2' }).waitFor()
    complaints.push(...(await faultsOf(page)))
    // The message that a resend sent, and back.
    const sent = { channel: 'sms', messages: [{ messageId: 'sms-4', to: CUSTOMER }] }
    await app.receiver.sends.expect(sent, { project: 'My Shop' })
    const again = await app.receiver.sends.intend({ resendOf: 'sms-4', to: CUSTOMER, project: 'My Shop' })
    await again.sent({ messages: [{ messageId: 'sms-5', to: CUSTOMER }] })
    await page.goto(`${app.url}#/message/sms-4?project=My+Shop`)
    await page.getByRole('link', { name: 'sms-5' }).click()
    await page.getByRole('heading', { name: 'Message sms-5' }).waitFor()
    await page.getByRole('link', { name: 'sms-4' }).click()
    await page.getByRole('heading', { name: 'Message sms-4' }).waitFor()
    // An event that could not be read.
    await app.reportChat('chat-1', 'teleported', RECIPIENT)
    await app.receiver.drain()
    await page.goto(`${app.url}#/message/chat-1?project=My+Shop`)
    const unread = page.locator('.timeline > li').filter({ hasText: 'unrecognized' })
    await unread.getByText('It could not be read, so it has no place in the order.').waitFor()
    await unread.getByText('No handler').waitFor()
    await page.getByText('3 reports', { exact: true }).waitFor()
    expect(complaints).toEqual([])
  })

  test('a message starts with its send, before any report, and becomes overdue while its page is open', async () => {
    const app = await inspectedApp({ store: sqliteStore(ownFile()) })
    const { page, complaints } = await openPage(browser, app.origin, { reducedMotion: 'reduce' })
    const send = { type: 'transactional', channel: 'sms', campaign: HOSTILE }
    const meta = { order: 4711, note: HOSTILE }
    await app.receiver.sends.expect(
      { ...send, messages: [{ messageId: 'sms-1', to: RECIPIENT }] },
      { meta, withinMs: 4_000, project: 'My Shop' },
    )
    await page.goto(`${app.url}#/events`)
    await page.getByRole('searchbox').fill('sms-1')
    await page.keyboard.press('Enter')
    await page.getByText('No report has arrived yet.').waitFor()
    const entries = page.locator('.timeline > li')
    const types = () => entries.locator('h2 > :first-child').allTextContents()
    expect(await types()).toEqual(['sent by you'])
    const said = (await entries.first().textContent()) ?? ''
    for (const text of ['Awaited', RECIPIENT, '4711', HOSTILE]) expect(said).toContain(text)
    await expect.poll(types).toEqual(['sent by you', 'send.overdue'])
    const other = await openPage(browser, app.origin)
    await other.page.goto(app.url)
    await other.page.getByText('1 send overdue').waitFor()
    await app.reportSms('sms-1', 'success')
    await expect.poll(types).toEqual(['sent by you', 'send.overdue', 'message.delivered'])
    await entries.first().getByText('missed').waitFor()
    for (const colorScheme of ['light', 'dark'] as const)
      for (const size of [DESK, PHONE]) {
        await page.emulateMedia({ colorScheme })
        await page.setViewportSize(size)
        complaints.push(...(await faultsOf(page)).map((fault) => `${colorScheme}, ${size.width} px: ${fault}`))
      }
    app.allow('read')
    await page.goto('about:blank')
    await page.goto(`${app.url}#/message/sms-1`)
    await page.getByText('Numbers are shortened, and texts and bodies left out').waitFor()
    const masked = (await page.locator('body').textContent()) ?? ''
    for (const text of [RECIPIENT, '4711']) expect(masked).not.toContain(text)
    // Its report came, so it needs no attention.
    await other.page.getByText('Nothing needs attention.').waitFor()
    expect([...complaints, ...other.complaints]).toEqual([])
  })

  test('shows a sender’s text exactly and inert; a line of 250 KB does not block the page', async () => {
    const app = await inspectedApp({ store: sqliteStore(ownFile()) })
    const big = '12345678901234567890'
    const { page, complaints } = await openPage(browser, app.origin)
    await app.emulator.trigger('received', { text: HOSTILE, id: HOSTILE })
    await app.emulator.trigger('received', { text: 'x'.repeat(250_000) })
    const body = `{"project":"My Shop","messageId":"m-<b>&","channel":"sms","status":"${HOSTILE.replaceAll('"', '\\"')}","credits":${big},"authKey":"auth-key-of-the-tests"}`
    await fetch(`${app.origin}/status`, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    await page.goto(`${app.url}#/events?q=${encodeURIComponent('m-<b>&')}`)
    await page.locator('tbody a').first().click()
    await page.getByText(big).first().waitFor()
    await page.goto(`${app.url}#/events?type=received`)
    await expect.poll(() => page.locator('tbody tr').count()).toBe(2)
    for (const index of [0, 1]) {
      await page.goto(`${app.url}#/events?type=received`)
      await page.locator('tbody a').nth(index).click()
      await page.getByRole('heading', { name: 'Payload' }).waitFor()
      for (const summary of await page.locator('details summary').all()) await summary.click()
      const length = await page.evaluate<number>("document.querySelector('main').textContent.length")
      expect(length).toBeLessThan(200_000)
    }
    expect(await page.locator('main script, main img').count()).toBe(0)
    const download = page.waitForEvent('download')
    await page.getByRole('link', { name: 'Download it' }).click()
    expect((await download).suggestedFilename()).not.toBe('')
    expect(complaints).toEqual([])
  })

  test('without the right to write or to reveal: no button that would fail, and a note of what is masked', async () => {
    const app = await usedApp()
    app.allow('read')
    const { page, complaints } = await openPage(browser, app.origin)
    await page.goto(`${app.url}#/overview`)
    await page.getByRole('region', { name: 'Needs attention' }).getByText('1 dead letter', { exact: true }).waitFor()
    expect(await page.locator('main').getByRole('button').count()).toBe(0)
    await page.goto(`${app.url}#/dead-letters`)
    await page.getByText('Read-only: you lack the right to write.').waitFor()
    expect(await page.getByRole('button', { name: /Replay|Discard/ }).count()).toBe(0)
    await page.goto(`${app.url}#/quarantine`)
    await page.getByText('Read-only: you lack the right to write.').waitFor()
    expect(await page.getByRole('button', { name: /Verify again|Clear/ }).count()).toBe(0)
    await page.goto(`${app.url}#/message/chat-1?project=My+Shop`)
    await page.getByText('Numbers are shortened, and texts and bodies left out').waitFor()
    expect(await page.locator('body').textContent()).not.toContain(RECIPIENT)
    expect(complaints).toEqual([])
    app.allow(false)
    await page.goto('about:blank')
    await page.goto(app.url)
    expect(complaints.splice(0).join()).toContain('403')
  })

  test('hides revealed data when the right ends', async () => {
    const app = await usedApp()
    const { page } = await openPage(browser, app.origin)
    await page.goto(`${app.url}#/events`)
    await page.getByText(RECIPIENT).first().waitFor()
    app.allow(false)
    await page.keyboard.press('r')
    await page.getByText('Not allowed.').waitFor()
    expect(await page.locator('body').textContent()).not.toContain(RECIPIENT)
    app.allow('read')
    await page.getByRole('heading', { level: 1, name: 'Events' }).waitFor()
    await page.getByRole('link', { name: 'chat-1' }).first().waitFor()
    expect(await page.locator('body').textContent()).not.toContain(RECIPIENT)
  })

  test('shows times in UTC or local time, copies ids and requests, exports lists', async () => {
    const app = await usedApp()
    const { page, complaints } = await openPage(browser, app.origin, {
      timezoneId: 'Asia/Tokyo',
      permissions: ['clipboard-read', 'clipboard-write'],
    })
    const copied = () => page.evaluate<string>('navigator.clipboard.readText()')
    await page.goto(`${app.url}#/events?type=message.failed`)
    const shown = page.locator('tbody time').first()
    const isIn = async (zone: string) => {
      const at = new Date((await shown.getAttribute('datetime')) ?? '')
      return (await shown.textContent())?.includes(at.toLocaleTimeString('en-GB', { timeZone: zone }))
    }
    await expect.poll(() => isIn('Asia/Tokyo')).toBe(true)
    await page.getByRole('button', { name: 'Show UTC' }).click()
    await expect.poll(() => isIn('UTC')).toBe(true)
    await page.reload()
    await expect.poll(() => isIn('UTC')).toBe(true)
    expect(await shown.textContent()).toMatch(/ago|now/)
    await page.getByRole('button', { name: 'Copy message id' }).click()
    expect(await copied()).toBe('sms-1')
    const saved = page.waitForEvent('download')
    await page.getByRole('link', { name: 'JSON' }).click()
    expect((await saved).suggestedFilename()).toMatch(/\.json$/)
    await page.getByLabel('Period').selectOption('15 min')
    await expect.poll(() => page.url()).toContain('from=')
    await expect.poll(() => page.locator('tbody tr').count()).toBe(1)
    await page.locator('tbody a').first().click()
    await page.getByRole('button', { name: 'Copy the request as curl' }).click()
    expect(await copied()).toMatch(/^curl -X POST .*"authKey":"<authKey>"/s)
    expect(complaints).toEqual([])
  })

  test('behind a proxy that strips a prefix, every request keeps the prefix', async () => {
    const app = await usedApp()
    const origin = await behindProxy(app.origin, '/some/prefix')
    const { page, complaints } = await openPage(browser, `${origin}/some/prefix/look`)
    await page.goto(`${origin}/some/prefix/look`)
    await page.getByRole('button', { name: 'Live' }).waitFor()
    for (const name of ['Events', 'Dead letters', 'Quarantine', 'Overview']) {
      await page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name }).click()
      await page.getByRole('heading', { level: 1, name }).waitFor()
    }
    expect(complaints).toEqual([])
  })

  test('every view is reachable by keyboard', async () => {
    const app = await usedApp()
    const { page, complaints } = await openPage(browser, app.origin)
    await page.goto(app.url)
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    await page.keyboard.press('e')
    await expect.poll(() => page.locator('tbody tr').count()).toBe(5)
    for (const key of ['j', 'j', 'k', 'Enter']) await page.keyboard.press(key)
    await page.getByRole('heading', { level: 1, name: 'Event', exact: true }).waitFor()
    await page.keyboard.press('/')
    await page.keyboard.type('sms-1')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Message sms-1' }).waitFor()
    // The focus stays in the field being typed in, and its keys are not shortcuts.
    await page.keyboard.type('e')
    await page.evaluate(`dispatchEvent(new Event('hashchange'))`)
    await page.keyboard.type('q')
    expect(await page.getByRole('searchbox').inputValue()).toBe('sms-1eq')
    await page.getByRole('heading', { name: 'Message sms-1' }).waitFor()
    await page.keyboard.press('Escape')
    await page.keyboard.press('?')
    await page.getByRole('dialog', { name: 'Keys' }).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'hidden' })
    await page.keyboard.press('d')
    await page.getByRole('heading', { level: 1, name: 'Dead letters' }).waitFor()
    await page.locator('tbody tr').first().waitFor()
    await page.keyboard.press('j')
    await page.keyboard.press('x')
    await page.getByRole('main').getByText('1 selected').waitFor()
    expect(complaints).toEqual([])
  })
  test('the command line opens it on a store alone, and the page says what is not available there', async () => {
    const path = ownFile()
    await usedApp(path)
    const { printed } = startCli(['inspect', '--store', path])
    const address = () => /http:\/\/127\.0\.0\.1:\d+\/\?token=[\w-]+/.exec(printed.stdout)?.[0] ?? ''
    await expect.poll(address).not.toBe('')
    const { page, complaints } = await openPage(browser, new URL(address()).origin)
    await page.goto(address())
    await page.getByText('You see the store without its receiver.').waitFor()
    await page.locator('.tile', { hasText: 'Dead letters' }).getByText('1').waitFor()
    for (const name of ['Accepted', 'Duplicates', 'Late', 'Refused', 'In quarantine'])
      expect(await page.locator('.tile', { hasText: name }).locator('b').textContent(), name).toBe('–')
    expect(await page.locator('main').textContent()).not.toContain('by this process')
    complaints.push(...(await faultsOf(page)))
    await page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name: 'Quarantine' }).click()
    await page.getByRole('heading', { level: 1, name: 'Quarantine' }).waitFor()
    await page.getByText('You see the store without its receiver.').waitFor()
    await page.getByText('The quarantine belongs to the receiver.').waitFor()
    await page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name: 'Dead letters' }).click()
    await expect.poll(() => page.locator('tbody tr').count()).toBe(1)
    await page.getByRole('link', { name: 'sms-1' }).click()
    const entry = page.locator('.timeline > li').filter({ hasText: 'message.failed' })
    await entry.getByText('Handlers: –').waitFor()
    expect(await entry.locator('.facts', { hasText: 'Duplicates' }).textContent()).toContain('Duplicates–')
    expect(complaints).toEqual([])
  })
})
