/** Refused requests by cause, and whether they can be verified now. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import type { ClearResult, QuarantineList, ReverifyResult } from '../routes.ts'
import { asNoAnswer, post, useList, valueOf } from './data.ts'
import { confirm, type View } from './deciding.ts'
import { h, say, type Child } from './ui.ts'
import * as labels from './labels.ts'
import * as ui from './ui.ts'

type Kept = QuarantineList['items'][number]

export function QuarantineView(view: View): VNode | VNode[] {
  if (!view.session.storeAlone) return h`<${Requests} ...${view} />`
  return h`${ui.heading('Quarantine')}${ui.empty(
    '–',
    ui.prose(
      'The quarantine belongs to the receiver. On its machine, `messaging-webhooks quarantine list` prints the refused requests.',
    ),
  )}`
}

function Requests(view: View): VNode | VNode[] {
  const list = useList<QuarantineList>('quarantine', ['class', 'code', 'project', 'q'], view.route, view.changes)
  const about = list.query['q']
  return h`${ui.heading('Quarantine')}${ui.loaded(list.asked, ({ items, groups, size, counts, next }) => [
    about === undefined
      ? causes(groups, size, list.isFiltered)
      : h`<p>Requests about “${about}”. <a href="#/quarantine">Show all</a></p>`,
    view.session.may.write && h`<${VerifyForm} size=${size} refresh=${view.refresh} />`,
    items.length > 0
      ? requests(items, view.session.may.reveal)
      : ui.empty(
          list.isFiltered ? 'No request in quarantine matches.' : 'Nothing is in quarantine.',
          'A request without a valid proof is answered 401 and kept here for a while, so that the right key can still prove it.',
        ),
    ui.pages(
      list,
      next,
      ['Oldest', 'Newer'],
      ui.quiet(
        `${ui.several(size, 'request')}, ${ui.bytes(counts.bytes)}`,
        counts.dropped > 0 && `; ${ui.count(counts.dropped)} dropped at capacity`,
      ),
    ),
  ])}`
}

/** Verifies all again, first as a dry run, and clears the quarantine. */
function VerifyForm({ size, refresh }: { readonly size: number; readonly refresh: () => void }): VNode | VNode[] {
  const [offset, setOffset] = useState('')
  const [outcome, setOutcome] = useState<Child>()
  const [isBusy, setBusy] = useState(false)

  /** `change` resolves to the text of its result, which is empty if the reader cancels. */
  async function run(change: () => Promise<string>): Promise<void> {
    setBusy(true)
    setOutcome(undefined)
    try {
      const text = await change()
      say(text)
      setOutcome(text && h`<p class="note">${text}</p>`)
    } catch (error) {
      setOutcome(ui.problemBox(asNoAnswer(error)))
    }
    setBusy(false)
    refresh()
  }

  async function verify(): Promise<string> {
    const clock = offset === '' ? {} : { clockOffsetSeconds: Number(offset) }
    const reverify = (dryRun: boolean) => post<ReverifyResult>('api/quarantine/reverify', { dryRun, ...clock })
    const { examined, admitted, stillUnproved } = await reverify(true)
    const verified = `${ui.several(examined, 'request')} verified again`
    if (admitted === 0)
      return `${verified}: none can be admitted yet. Set the right authKey and signing secret first. If the clock was wrong, enter its offset.`
    const answer = await confirm({
      title: `Admit ${ui.several(admitted, 'callback')}?`,
      text: `${ui.several(stillUnproved, 'request')} would stay. The others leave quarantine and go to your handlers, in the order of each message. This cannot be undone.`,
      yes: 'Admit',
    })
    if (answer === undefined) return ''
    const done = await reverify(false)
    return `${verified}: ${ui.several(done.admitted, 'was', 'were')} admitted, ${ui.several(done.stillUnproved, 'stays', 'stay')}.`
  }

  async function clear(): Promise<string> {
    const answer = await confirm({
      title: `Clear ${ui.several(size, 'request')}?`,
      text: 'This erases the whole quarantine, including real callbacks. It cannot be undone.',
      yes: 'Clear',
      isGrave: true,
    })
    if (answer === undefined) return ''
    const { cleared } = await post<ClearResult>('api/quarantine/clear', {})
    return `${ui.several(cleared, 'request')} cleared.`
  }

  return ui.panel(
    'Verify again',
    h`<p>Verifies every request with the current credentials, each by its time of arrival, and asks before it admits any.</p>
    <form class="tools" onSubmit=${(event: Event) => (event.preventDefault(), void run(verify))}>
      <label for="offset">Clock offset in seconds</label>
      <input id="offset" type="number" step="1" placeholder="0" value=${offset}
        onInput=${({ currentTarget }: Event) => setOffset(valueOf(currentTarget))} />
      <button type="submit" class="main" disabled=${isBusy || size === 0}>Verify again</button>
      <button type="button" class="grave end" disabled=${isBusy || size === 0} onClick=${() => run(clear)}>Clear the quarantine</button>
    </form>`,
    outcome,
  )
}

function causes(groups: QuarantineList['groups'], size: number, isFiltered: boolean): Child {
  const isPartial = groups.reduce((sum, { count }) => sum + count, 0) < size
  return ui.problems(
    'By cause',
    groups.map(({ class: name, guess, code, why, project, count, since, last }) => ({
      key: `${name} ${code} ${project ?? ''}`,
      tone: name === 'rest' ? 'calm' : 'bad',
      text: h`<strong>${ui.count(count)}${isPartial && '+'} refused since ${ui.time(since)}: ${guess}</strong>
        ${project !== undefined && ` Project ${project}.`}
        <p><code>${code}</code> ${ui.prose(why)}</p><small>last ${ui.time(last, true)}</small>`,
      remedy: ui.linkButton('Show', ['quarantine'], { class: name, code, project }),
    })),
    isFiltered && ui.linkButton('Show all causes', ['quarantine']),
  )
}

function requests(rows: readonly Kept[], mayReveal: boolean): Child {
  return ui.table({
    caption: 'Requests in quarantine, in order of arrival',
    rows,
    keyOf: ({ id }) => id,
    class: 'cards',
    columns: [
      ['Received', 'when', ({ arrivedAt }) => ui.time(arrivedAt, true)],
      ['Kind', 'what', ({ kind, label }) => [kind ?? 'any', ' ', ui.badge(label, 'calm')]],
      ['Project', 'project', ({ project }) => project],
      ['Message', 'message', ({ messageId, project }) => labels.messageLink({ messageId, project })],
      ['Recipient', 'recipient', ({ recipient }) => ui.code(recipient)],
      ['Cause', 'wide', (kept) => causeOf(kept, mayReveal)],
    ],
  })
}

function causeOf({ code, offsetSeconds, bytes, payload }: Kept, mayReveal: boolean): Child {
  return h`<details><summary data-item><code>${code}</code>
      ${offsetSeconds !== undefined && h`<strong> Clock offset: ${offsetSeconds} s.</strong>`}
      <small> ${ui.bytes(bytes)}</small></summary>
      ${ui.payload(payload, mayReveal, 'Its body is not a JSON object.')}
    </details>`
}
