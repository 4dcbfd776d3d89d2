/** The page shows changes within seconds, says when the server does not answer, and sends nothing while hidden. */
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { titleWith } from '../../support/skipping.ts'
import { launchBrowser, noBrowser } from '../chromium.ts'
import { openPage } from '../watching.ts'
import { inspectedApp } from './app.ts'

const reason = noBrowser()

describe.skipIf(reason !== undefined)(titleWith(reason, 'the inspector, live'), () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await launchBrowser()
  })
  afterAll(() => browser.close())

  const connection = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).waitFor()

  /** Headless browsers report every page as visible, so the test sets its visibility. */
  function hide(page: Page, isHidden: boolean): Promise<unknown> {
    return page.evaluate(`
      Object.defineProperty(document, 'hidden', { value: ${isHidden}, configurable: true })
      document.dispatchEvent(new Event('visibilitychange'))
    `)
  }

  test('a new event appears without a reload, unless the page is hidden or paused', async () => {
    const app = await inspectedApp()
    const { page, complaints } = await openPage(browser, app.origin)
    const rows = page.locator('tbody tr')
    let asked = 0
    page.on('request', () => (asked += 1))
    await page.goto(`${app.url}#/events`)
    await page.getByText('No events yet.').waitFor()
    await connection(page, 'Live')
    await app.reportSms('sms-1', 'success')
    await expect.poll(() => rows.count()).toBe(1)
    await page.locator('tbody', { hasText: 'No handler' }).waitFor()

    await hide(page, true)
    await app.reportSms('sms-2', 'success')
    await new Promise((resolve) => setTimeout(resolve, 500))
    const before = asked
    await new Promise((resolve) => setTimeout(resolve, 2_500))
    expect(asked).toBe(before)
    expect(await rows.count()).toBe(1)
    await hide(page, false)
    await expect.poll(() => rows.count()).toBe(2)

    await page.getByRole('button', { name: 'Live' }).click()
    await connection(page, 'Paused')
    await app.reportSms('sms-3', 'success')
    await page.getByRole('button', { name: 'Paused' }).click()
    await expect.poll(() => rows.count()).toBe(3)
    expect(complaints).toEqual([])
  })

  test('reports a lost connection, and catches up once it is back', async () => {
    const app = await inspectedApp()
    const { page } = await openPage(browser, app.origin)
    await page.goto(`${app.url}#/events`)
    await connection(page, 'Live')
    app.cutOff(true)
    await connection(page, 'No connection')
    await page.getByText('The page shows earlier data').waitFor()
    await app.reportSms('sms-1', 'success')
    app.cutOff(false)
    await connection(page, 'Live')
    await expect.poll(() => page.locator('tbody tr').count()).toBe(1)
    expect(await page.getByText('The page shows earlier data').count()).toBe(0)
  })
})
