/**
 * The incidents that the inspector is for, handled in at most ten clicks each: a temporarily wrong secret, a handler that fails for
 * one customer, a carrier whose reports stop, a wrong clock. The page explains each one, and resolves it where it can.
 */
import type { Browser, Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { titleWith } from '../../support/skipping.ts'
import { launchBrowser, noBrowser } from '../chromium.ts'
import { openPage } from '../watching.ts'
import { inspectedApp, sqliteStore } from './app.ts'
import { ownFile } from '../../support/own-folder.ts'

const MAX_CLICKS = 10
const reason = noBrowser()

describe.skipIf(reason !== undefined)(titleWith(reason, 'an incident, handled on the page'), () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await launchBrowser()
  })
  afterAll(() => browser.close())

  /** Clicks, and counts the clicks. */
  function clicking(page: Page) {
    const clicks: string[] = []
    async function click(target: Locator): Promise<void> {
      clicks.push((await target.textContent()) ?? '')
      await target.click()
    }
    const button = (name: string | RegExp) => page.getByRole('main').getByRole('button', { name })
    const link = (name: string | RegExp) => page.getByRole('main').getByRole('link', { name })
    /** The dialog in which the page asks for confirmation. */
    async function answer(says: RegExp, name: string): Promise<void> {
      const dialog = page.getByRole('dialog')
      await dialog.waitFor()
      expect(await dialog.textContent()).toMatch(says)
      await click(dialog.getByRole('button', { name, exact: true }))
      await dialog.waitFor({ state: 'hidden' })
    }
    return { clicks, click, button, link, answer }
  }

  const attention = (page: Page) => page.getByRole('region', { name: 'Needs attention' })

  test('a wrong secret: the overview names it, and refused callbacks are admitted once the secret is right', async () => {
    const app = await inspectedApp({ store: sqliteStore(ownFile()) })
    const handled = new Set<string>()
    app.receiver.on('message.*', ({ messageId }) => void handled.add(messageId))
    // The service rotated its credentials, and for a while the app verifies with the old ones.
    const pair = app.emulator.rotateKeys()
    for (let at = 0; at < 60; at += 1) await app.reportSms(`sms-${at}`, 'success')
    const { page, complaints } = await openPage(browser, app.origin)
    const { clicks, click, button, link, answer } = clicking(page)
    await page.goto(app.url)
    await attention(page).getByText('60 refused: wrong secret?').waitFor()
    await click(link('Show and verify again'))
    await page.getByText('60 refused since').waitFor()
    await page.getByText('Project My Shop.').waitFor()
    await click(button('Verify again'))
    await page.getByRole('main').getByText('Set the right authKey and signing secret first').waitFor()
    app.usePair(pair)
    await click(button('Verify again'))
    await page.getByRole('dialog').waitFor()
    expect(handled.size).toBe(0)
    await answer(/Admit 60 callbacks\?.*0 requests would stay.*cannot be undone/, 'Admit')
    await page.getByRole('main').getByText('60 were admitted, 0 stay').waitFor()
    await expect.poll(() => handled.size).toBe(60)
    await click(page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name: 'Overview' }))
    await page.getByText('Nothing needs attention.').waitFor()
    expect(clicks.length).toBeLessThanOrEqual(MAX_CLICKS)
    expect(complaints).toEqual([])
  })

  test('a handler that fails for one customer: the cause leads to the events, and all of them run again', async () => {
    const app = await inspectedApp({ store: sqliteStore(ownFile()), retry: { attempts: 1 } })
    let isFixed = false
    let handled = 0
    app.receiver.on('message.*', function tellCustomer({ messageId }) {
      if (messageId.endsWith('7') && !isFixed) throw new TypeError(`no page for customer of ${messageId}`)
      handled += 1
    })
    for (let at = 0; at < 200; at += 1) await app.reportSms(`sms-${at}`, 'success')
    await app.receiver.drain()
    const { page, complaints } = await openPage(browser, app.origin)
    const { clicks, click, button, link, answer } = clicking(page)
    await page.goto(app.url)
    const problem = attention(page).getByRole('listitem')
    await problem.getByText('20 dead letters').waitFor()
    expect(await problem.textContent()).toContain('TypeError: no page for customer')
    await click(link('Show'))
    await expect.poll(() => page.locator('tbody tr').count()).toBe(20)
    // The newest first.
    await click(page.locator('tbody').getByRole('link', { name: 'message.delivered' }).first())
    await page.getByText('tellCustomer', { exact: true }).waitFor()
    await page.getByText('Fix this error; the log has the stack.').waitFor()
    isFixed = true
    await click(button('Replay message.delivered of sms-197'))
    await answer(/Replay message\.delivered of sms-197\?.*Replay as if on time/, 'Replay')
    await page.getByRole('main').getByText('Will run again: 1 event.').waitFor()
    await page.getByRole('main').getByText('Handled').waitFor()
    await click(page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name: 'Dead letters' }))
    await page.getByText('19 of 19 dead letters').waitFor()
    await click(button(/^Replay all: TypeError/))
    await answer(/Replay 19 dead letters\?/, 'Replay')
    await page.getByRole('main').getByText('Will run again: 19 events.').waitFor()
    await page.getByText('No dead letters.').waitFor()
    await expect.poll(() => handled).toBe(200)
    expect(clicks.length).toBeLessThanOrEqual(MAX_CLICKS)
    expect(complaints).toEqual([])
  })

  test('a carrier whose reports stop: the sends become overdue, and their list is exported', async () => {
    const app = await inspectedApp({ store: sqliteStore(ownFile()) })
    await app.reportSms('sms-before', 'success')
    const messages = Array.from({ length: 12 }, (_, at) => ({ messageId: `sms-${at}`, to: '254711000042' }))
    await app.receiver.sends.expect({ channel: 'sms', messages }, { withinMs: 1, project: 'My Shop' })
    const { page, complaints } = await openPage(browser, app.origin)
    const { clicks, click, link } = clicking(page)
    await page.goto(app.url)
    await attention(page).getByText('12 sends overdue').waitFor()
    // How long the carrier has been silent.
    const carriers = page.getByRole('region', { name: 'By carrier' })
    expect(await carriers.textContent()).toMatch(/carrierA.*(ago|now)/s)
    await click(attention(page).getByRole('link', { name: 'Show' }))
    await expect.poll(() => page.locator('tbody tr').count()).toBe(12)
    const saved = page.waitForEvent('download')
    await click(link('CSV'))
    expect((await saved).suggestedFilename()).toMatch(/^events-.*\.csv$/)
    await click(page.getByRole('link', { name: 'sms-7', exact: true }))
    await page.getByText('No final report has arrived, and the deadline has passed.').waitFor()
    // The carrier reports again.
    await app.reportSms('sms-7', 'success')
    await page.locator('.latest', { hasText: 'message.delivered' }).waitFor()
    await page.getByText('Its final report arrived.').waitFor()
    for (const { messageId } of messages) await app.reportSms(messageId, 'success')
    await click(page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name: 'Overview' }))
    await page.getByText('Nothing needs attention.').waitFor()
    expect(clicks.length).toBeLessThanOrEqual(MAX_CLICKS)
    expect(complaints).toEqual([])
  })

  test('a wrong clock: refused callbacks are admitted with the offset on the page', async () => {
    let aheadMs = 400_000
    const app = await inspectedApp({ clock: () => Date.now() + aheadMs })
    for (const messageId of ['sms-1', 'sms-2']) await app.reportSms(messageId, 'success')
    const { page, complaints } = await openPage(browser, app.origin)
    const { click, button, answer } = clicking(page)
    await page.goto(`${app.url}#/quarantine?class=provedButStale`)
    await expect.poll(() => page.locator('tbody tr').count()).toBe(2)
    const shown = await page.locator('tbody tr').first().textContent()
    const offset = /Clock offset: (399|400|401) s/.exec(shown ?? '')?.[1] ?? ''
    aheadMs = 0
    const main = page.getByRole('main')
    await click(button('Verify again'))
    await main.getByText('2 requests verified again: none can be admitted yet').waitFor()
    await page.getByLabel('Clock offset in seconds').fill(offset)
    await click(button('Verify again'))
    await answer(/Admit 2 callbacks\?.*The others leave quarantine/, 'Admit')
    await main.getByText('2 were admitted, 0 stay').waitFor()
    expect(complaints).toEqual([])
  })

  test('replays selected dead letters as if on time, or discards them; a search result, too; clears the quarantine', async () => {
    const app = await inspectedApp({ retry: { attempts: 1 } })
    let isFixed = false
    const handled: string[] = []
    app.receiver.on('message.*', ({ messageId, type }) => {
      if (!isFixed) throw new Error('not yet')
      handled.push(`${messageId} ${type}`)
    })
    for (const messageId of ['sms-1', 'sms-2', 'sms-3', 'sms-4', 'sms-5']) await app.reportSms(messageId, 'success')
    app.usePair({ authKey: 'another', signingSecret: 'another' })
    await app.reportSms('sms-6', 'success')
    app.usePair({})
    await app.receiver.drain()
    const { page, complaints } = await openPage(browser, app.origin)
    const { click, button, answer } = clicking(page)
    await page.goto(`${app.url}#/dead-letters`)
    await expect.poll(() => page.locator('tbody tr').count()).toBe(5)
    for (const messageId of ['sms-1', 'sms-2'])
      await page.getByRole('checkbox', { name: `Select message.delivered of ${messageId}` }).check()
    isFixed = true
    await click(button('Replay those selected'))
    await page.getByRole('checkbox', { name: 'Replay as if on time' }).check()
    await answer(/Replay 2 dead letters\?/, 'Replay')
    await expect.poll(() => handled.toSorted()).toEqual(['sms-1 message.delivered', 'sms-2 message.delivered'])
    await expect.poll(() => page.locator('tbody tr').count()).toBe(3)
    await page.getByText('Each event').click()
    expect(await page.locator('.results li').count()).toBe(2)
    await page.getByRole('checkbox', { name: 'Select message.delivered of sms-3' }).check()
    await click(button('Discard those selected'))
    await answer(/Discard 1 dead letter\?.*cannot be undone/, 'Cancel')
    expect(await page.locator('tbody tr').count()).toBe(3)
    await click(button('Discard those selected'))
    await answer(/Discard 1 dead letter\?/, 'Discard')
    await page.getByRole('main').getByText('Discarded: 1 event.').waitFor()
    // The page that a search opens, and the page of a message.
    await page.goto(`${app.url}#/events?outcome=dead`)
    await click(button('Discard message.delivered of sms-4'))
    await answer(/Discard message\.delivered of sms-4\?/, 'Discard')
    await expect.poll(() => page.locator('tbody tr').count()).toBe(1)
    await page.goto(`${app.url}#/message/sms-5?project=My+Shop`)
    await click(button('Replay message.delivered of sms-5'))
    await answer(/Replay message\.delivered of sms-5\?/, 'Replay')
    await expect.poll(() => handled).toContain('sms-5 message.delivered')
    await page.goto(`${app.url}#/quarantine`)
    await click(button('Clear the quarantine'))
    await answer(/Clear 1 request\?.*erases/, 'Clear')
    await page.getByText('Nothing is in quarantine.').waitFor()
    expect(app.receiver.quarantine.size).toBe(0)
    expect(complaints).toEqual([])
  })

  test('replays all matches, beyond the current page', async () => {
    const app = await inspectedApp({ store: sqliteStore(ownFile()), retry: { attempts: 1 } })
    let isFixed = false
    app.receiver.on('message.*', () => {
      if (!isFixed) throw new Error('not yet')
    })
    for (let at = 0; at < 120; at += 1) await app.reportSms(`sms-${at}`, 'success')
    await app.receiver.drain()
    const { page, complaints } = await openPage(browser, app.origin)
    const { click, button, answer } = clicking(page)
    await page.goto(`${app.url}#/dead-letters`)
    await page.getByText('120 of 120 dead letters').waitFor()
    await expect.poll(() => page.locator('tbody tr').count()).toBe(50)
    await page.getByRole('link', { name: 'Older »' }).click()
    await page.getByRole('link', { name: '« Newest' }).click()
    // Only the first page has it.
    await page.getByRole('link', { name: 'Older »' }).waitFor()
    await page.getByRole('checkbox', { name: 'All on this page' }).check()
    isFixed = true
    await click(button('Replay all that match'))
    await answer(/Replay 120 dead letters\?/, 'Replay')
    await page.getByRole('main').getByText('Will run again: 120 events.').waitFor()
    await page.getByText('No dead letters.').waitFor()
    expect(complaints).toEqual([])
  })
})
