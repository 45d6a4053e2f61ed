import { useRoute } from 'preact-iso/router';
import { overview, useLive } from '../base/live.js';
import { texts } from '../base/texts.js';

export function Lanes() {
  return (
    <>
      <h1>{texts.overview.lanes}</h1>
      <ul>
        {overview.value?.lanes.map(({ status }) => (
          <li key={status.id}>
            <a href={`/console/lanes/${encodeURIComponent(status.name)}`}>{status.name}</a>
          </li>
        ))}
      </ul>
    </>
  );
}

export function Lane() {
  const { params } = useRoute();
  const name = params['name'] ?? '';
  useLive([name], []);
  return <h1>{name}</h1>;
}
