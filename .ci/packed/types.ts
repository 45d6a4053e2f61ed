// Fails to compile if the declarations of the installed package are missing, or have become `any`.
import { type CampaignInput, createVolley, type EnqueueOutcome, loadConfig, type Volley } from 'volley';
import { createHttp, type HttpApp, type HttpOptions } from 'volley/http';
import { createMetrics, type Metrics, type MetricsOptions } from 'volley/metrics';

const volley: Volley = createVolley({ config: loadConfig(process.env) });
const input: CampaignInput = { recipients: [{ to: '+447700900123' }], sender: 'ACME', message: 'Hi' };
export const outcome: Promise<EnqueueOutcome> = volley.enqueue(input);
export const http: (options: HttpOptions) => HttpApp = createHttp;
export const metrics: (options: MetricsOptions) => Metrics = createMetrics;
// @ts-expect-error: a campaign has no member of this name.
export const misspelled: CampaignInput = { recipients: [{ to: '+447700900123' }], mesage: 'Hi' };
