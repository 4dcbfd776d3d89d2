/**
 * The incident that the inspector is for, played by clicks alone: a wrong secret for a while, a handler that fails for one
 * recipient, a carrier that reports late. Whoever is on call finds each cause on the page, and mends what can be mended there.
 */
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { titleWith } from '../../support/skipping.ts'
import { launchBrowser, noBrowser } from '../chromium.ts'
import { openPage } from '../watching.ts'
import { inspectedApp, newFile, sqliteStore } from './app.ts'

const ALICE = '999300000001'
const BOB = '999300000002'

const reason = noBrowser()

describe.skipIf(reason !== undefined)(titleWith(reason, 'an incident, from the page alone'), () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await launchBrowser()
  })
  afterAll(() => browser.close())

  async function view(page: Page, name: string): Promise<void> {
    await page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name }).click()
    await page.getByRole('heading', { level: 1, name }).waitFor()
  }

  /** Searches as a person does who was given a number or an id. */
  async function search(page: Page, words: string): Promise<void> {
    await page.getByRole('searchbox').fill(words)
    await page.keyboard.press('Enter')
    await page.locator('tbody a').first().waitFor()
  }

  /** The buttons of the question that the page asks first. */
  async function answerQuestion(page: Page, says: RegExp, name: string): Promise<void> {
    const dialog = page.getByRole('dialog')
    await dialog.waitFor()
    expect(await dialog.textContent()).toMatch(says)
    await dialog.getByRole('button', { name, exact: true }).click()
    await dialog.waitFor({ state: 'hidden' })
  }

  test('each cause is found, and mended', async () => {
    const app = await inspectedApp({
      store: sqliteStore(newFile()),
      retry: { attempts: 2, initialDelayMs: 1, maxDelayMs: 1 },
    })
    const handled: string[] = []
    let isMended = false
    app.receiver.on('message.*', function tellCustomer(event) {
      if (event.recipient === BOB && !isMended) throw new Error('The address book has no page for this customer.')
      handled.push(`${event.messageId} ${event.type}`)
    })
    app.receiver.on('late', ({ report }) => void handled.push(`${report.messageId} late`))

    const now = Math.floor(Date.now() / 1_000)
    // The service rotated its pair, and for a while the app verifies with the old one.
    const { authKey, signingSecret } = app.emulator.rotateKeys()
    for (const messageId of ['sms-1', 'sms-2', 'sms-3']) await app.reportSms(messageId, 'success')
    const { page, complaints } = await openPage(browser, app.origin)
    await page.goto(app.url)

    // "Nothing arrives any more": the overview names the refusals, and quarantine has them.
    await page.locator('.tile', { hasText: 'Refused' }).getByText('3').waitFor()
    await page.getByRole('region', { name: 'Refused, by code' }).getByText('signature_mismatch').waitFor()
    await view(page, 'Quarantine')
    await expect.poll(() => page.locator('tbody tr').count()).toBe(3)
    expect(await page.locator('tbody tr').first().textContent()).toContain('matches none of the live secrets')
    const dryRun = page.getByRole('button', { name: 'Dry run' })
    await dryRun.click()
    await page.getByRole('main').getByText('Put the right Auth Key and signing secret in place').waitFor()
    expect(await page.getByRole('button', { name: /^Admit/ }).count()).toBe(0)
    app.usePair({ authKey, signingSecret })
    await dryRun.click()
    await page.getByRole('main').getByText('3 would be admitted, 0 would stay').waitFor()
    expect(handled).toEqual([])
    await page.getByRole('button', { name: 'Admit 3' }).click()
    await answerQuestion(page, /Your handlers get them.*cannot be undone/, 'Admit')
    await page.getByRole('main').getByText('3 were admitted, 0 stay').waitFor()
    await page.getByRole('main').getByText('Nothing is in quarantine.').waitFor()
    await expect
      .poll(() => handled.toSorted())
      .toEqual(['sms-1', 'sms-2', 'sms-3'].map((id) => `${id} message.delivered`))

    // "I never got the code", says Bob: his number leads to the error.
    handled.length = 0
    await app.reportChat('chat-a', 'sent', ALICE)
    await app.reportChat('chat-b', 'sent', BOB)
    await expect.poll(() => handled).toEqual(['chat-a message.sent'])
    await search(page, BOB)
    await page.locator('tbody tr', { hasText: 'Dead letter' }).waitFor()
    await page.getByRole('link', { name: 'chat-b' }).click()
    await page.getByRole('heading', { name: 'Message chat-b' }).waitFor()
    const attempts = page.locator('.attempts > li')
    await expect.poll(() => attempts.count()).toBe(2)
    expect(await attempts.last().textContent()).toContain('The address book has no page for this customer.')
    await view(page, 'Dead letters')
    isMended = true
    await page.getByRole('button', { name: 'Replay message.sent of chat-b' }).click()
    await answerQuestion(page, /handlers of 1 event run again/, 'Cancel')
    expect(handled).toHaveLength(1)
    await page.getByRole('button', { name: 'Replay message.sent of chat-b' }).click()
    await answerQuestion(page, /handlers of 1 event run again/, 'Replay')
    await page.getByRole('main').getByText('Will run again: 1 event.').waitFor()
    await page.getByRole('main').getByText('No dead letters.').waitFor()
    await expect.poll(() => handled).toEqual(['chat-a message.sent', 'chat-b message.sent'])

    // "It says delivered, and then failed?": the carrier reported late.
    await app.reportSms('sms-9', 'success', { timestamp: now })
    await app.receiver.drain()
    await app.reportSms('sms-9', 'network_failure', { timestamp: now - 120 })
    await search(page, 'sms-9')
    await page.getByRole('link', { name: 'show its timeline' }).click()
    const entries = page.locator('.timeline > li')
    await expect.poll(() => entries.count()).toBe(2)
    expect(await entries.first().textContent()).toMatch(/1st in order, 2nd to come/)
    await page.locator('.latest', { hasText: 'message.delivered' }).waitFor()
    expect(complaints).toEqual([])
  })

  test('many dead letters at once are forced, or discarded', async () => {
    const app = await inspectedApp({ retry: { attempts: 1 } })
    let isMended = false
    const handled: string[] = []
    app.receiver.on('message.*', ({ messageId }) => {
      if (!isMended) throw new Error('not yet')
      handled.push(messageId)
    })
    for (const messageId of ['sms-1', 'sms-2', 'sms-3', 'sms-4']) await app.reportSms(messageId, 'success')
    await app.receiver.drain()
    const { page, complaints } = await openPage(browser, app.origin)
    await page.goto(`${app.url}#/dead-letters`)
    await expect.poll(() => page.locator('tbody tr').count()).toBe(4)
    for (const messageId of ['sms-1', 'sms-2'])
      await page.getByRole('checkbox', { name: `Choose message.delivered of ${messageId}` }).check()
    isMended = true
    await page.getByRole('button', { name: 'Force those chosen' }).click()
    await answerQuestion(page, /handlers of 2 events run again.*may then be older/, 'Force')
    await expect.poll(() => handled.toSorted()).toEqual(['sms-1', 'sms-2'])
    await expect.poll(() => page.locator('tbody tr').count()).toBe(2)
    await page.getByRole('checkbox', { name: 'All on this page' }).check()
    await page.getByRole('button', { name: 'Discard those chosen' }).click()
    await answerQuestion(page, /2 events are given up.*cannot be undone/, 'Discard')
    await page.getByRole('main').getByText('No dead letters.').waitFor()
    expect(handled).toHaveLength(2)
    expect(complaints).toEqual([])
  })
  test('what a wrong clock refused is admitted by the offset that was measured', async () => {
    let aheadMs = 400_000
    const app = await inspectedApp({ clock: () => Date.now() + aheadMs })
    for (const messageId of ['sms-1', 'sms-2']) await app.reportSms(messageId, 'success')
    const { page, complaints } = await openPage(browser, app.origin)
    await page.goto(`${app.url}#/quarantine?class=provedButStale`)
    await expect.poll(() => page.locator('tbody tr').count()).toBe(2)
    expect(await page.locator('tbody tr').first().textContent()).toMatch(
      /Its time is 6 min (39|40|41) s behind this clock/,
    )
    aheadMs = 0
    await page.getByRole('button', { name: 'Dry run' }).click()
    const main = page.getByRole('main')
    await main.getByText('0 would be admitted, 2 would stay').waitFor()
    await page
      .getByRole('button', { name: /^(399|400|401) s \(measured/ })
      .first()
      .click()
    await page.getByRole('button', { name: 'Dry run' }).click()
    await main.getByText('2 would be admitted, 0 would stay').waitFor()
    await page.getByRole('button', { name: 'Admit 2' }).click()
    await answerQuestion(page, /Your handlers get them/, 'Admit')
    await main.getByText('2 were admitted, 0 stay').waitFor()
    expect(complaints).toEqual([])
  })
})
